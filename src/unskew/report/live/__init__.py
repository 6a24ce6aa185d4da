"""The live page of a running stream; it only reads what the stream writes."""
