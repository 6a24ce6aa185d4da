"""Keyed state that moves: who holds which keys may change between two micro-batches."""
