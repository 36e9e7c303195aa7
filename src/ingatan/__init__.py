"""Ingatan: the long-term memory of an enterprise assistant.

A model may only propose; a deterministic policy decides; PostgreSQL is the only truth; permission comes before
relevance; nothing recalled is an instruction or evidence.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
