"""One file for each verb on a batch DataFrame."""
