"""Certificates: which authorities are believed when this service calls another."""

from __future__ import annotations

import ssl
from functools import cache

import certifi


@cache
def authorities() -> ssl.SSLContext:
    """The system's certificate authorities, a company's own among them, and those that come with the packages."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
