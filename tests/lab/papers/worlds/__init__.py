"""Made-up measurements: what a paper's figures would give were it right, and how they may not.

A claim must accept the paper's own numbers, and reject each change that contradicts it.
"""
