"""The verbs on streams: `ek.streaming`."""

from __future__ import annotations
