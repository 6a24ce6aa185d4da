"""The results of a folder as one page: each kind of result has its file here."""
