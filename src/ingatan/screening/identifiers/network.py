"""Addresses of a person's device: public internet addresses, IMEI and MAC."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from functools import cache

from ingatan.screening.identifiers.kind import Kind, beside
from ingatan.screening.view import View

HARMLESS = r"versions?|versi|phien ban|ver|v|release|rilis|build|dns|resolver|nameserver|firmware|driver"
"""Beside these four numbers with dots are a release, or an address of everybody's."""
DEVICES = r"imei\d?|mac|mac address|alamat mac|dia chi mac|serial imei"


@cache
def _internet() -> re.Pattern[str]:
    return re.compile(
        r"(?<![\w.:])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]\d|\w)|(?<![\w:.])(?:[0-9a-f]{1,4}:){3,7}(?::?[0-9a-f]{1,4}){1,5}(?![\w:])"
    )


@cache
def _device() -> re.Pattern[str]:
    return re.compile(r"(?<![\w:-])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![\w:-])")


@cache
def _examples() -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Addresses that stand for public ones in documents (RFC 5737, RFC 3849)."""
    written = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
    return tuple(ipaddress.ip_network(network) for network in written)


def _public(written: str) -> bool:
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        return False
    return address.is_global or any(address in network for network in _examples())


def _places(view: View) -> Iterator[tuple[int, int]]:
    folded = view.mapped.folded
    for match in _internet().finditer(folded):
        if _public(match[0]) and not beside(view, match.start(), match.end(), HARMLESS):
            yield match.start(), match.end()
    for match in _device().finditer(folded):
        yield match.start(), match.end()
    for number in view.numbers:
        if len(number.digits) in (15, 16) and beside(view, number.start, number.end, DEVICES):
            yield number.start, number.end


KIND = Kind(
    name="network",
    places=_places,
    reads="a public internet address that is no release and no resolver, a MAC address, an IMEI beside a word for it",
    example="the address of a device",
)
