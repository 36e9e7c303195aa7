"""Evaluation of a whole Ingatan on labelled cases: what it writes, must not write, recalls, forgets; and why.

Imports ingatan, never the other way. Every case runs through the real service on a database of its own.
"""
