"""Client address of a request, and its network: a /24 of IPv4 or a /64 of IPv6."""

import ipaddress
import re
from collections.abc import Sequence

_PORT = re.compile(r"\[(.*)\](?::\d+)?|([\d.]+):\d+")


def client_address(peer: str, forwarded: Sequence[str], hops: int) -> str:
    """Return the address seen by the outermost trusted proxy; anyone can forge the entries further left."""
    chain = [part.strip() for line in forwarded for part in line.split(",")] + [peer]
    return chain[max(0, len(chain) - 1 - hops)]


def network_of(address: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return the /24 or /64 of an address, with or without a port; None if it is not an address."""
    with_port = _PORT.fullmatch(address)
    try:
        found = ipaddress.ip_address((with_port[1] or with_port[2]) if with_port else address)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    return ipaddress.ip_network((found.packed, 24 if found.version == 4 else 64), strict=False)
