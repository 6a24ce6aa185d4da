"""A page on this machine that follows a running stream; reads what the stream writes, no more."""
