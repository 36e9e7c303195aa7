"""Addresses of other services: which are usable at all, and to which secrets may travel. Nothing is looked up."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def usable(url: str) -> bool:
    """Whether ``url`` is http or https with a host, and without user, query or fragment."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return plain and parts.username is None and not parts.query and not parts.fragment and url.isprintable()


def loopback(url: str) -> bool:
    """Whether ``url`` leads to this machine, by its name or address alone."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def safe(url: str) -> bool:
    """Whether secrets and keys may travel to or from ``url``: https, or plain http on this machine."""
    return usable(url) and (urlsplit(url).scheme == "https" or loopback(url))
