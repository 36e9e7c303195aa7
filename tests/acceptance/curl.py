"""The few options of curl that the README uses, for machines without it: -s, -X, -H, -d and an address."""

from __future__ import annotations

import argparse
import sys

import httpx

parser = argparse.ArgumentParser()
parser.add_argument("-s", action="store_true")
parser.add_argument("-X", dest="method")
parser.add_argument("-H", dest="headers", action="append", default=[])
parser.add_argument("-d", dest="data")
parser.add_argument("address")
chosen = parser.parse_args()
headers = dict(header.split(": ", 1) for header in chosen.headers)
method = chosen.method or ("POST" if chosen.data is not None else "GET")
sys.stdout.write(httpx.request(method, chosen.address, headers=headers, content=chosen.data, timeout=30).text)
