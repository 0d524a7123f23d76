"""Client address of a request, and its network: a /24 of IPv4 or a /48 of IPv6.

A /48 is the largest that one customer is given, for nothing; where homes have a /56 each, it holds as many as a /24.
"""

import ipaddress
import re
from collections.abc import Sequence

_PORT = re.compile(r"\[(.*)\](?::\d+)?|([\d.]+):\d+")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_WORLD = tuple(ipaddress.ip_network(text) for text in ("0.0.0.0/0", "2000::/3"))
"""All of IPv4, and the part of IPv6 that is given to networks."""
_SPECIAL = tuple(
    ipaddress.ip_network(text)
    for text in """
        0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
        192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24
        198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
        2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20
    """.split()
)
"""IANA's special-purpose addresses (RFC 6890) within `_WORLD`, and multicast; Python's own lists differ by version."""


def client_address(peer: str, forwarded: Sequence[str], hops: int) -> str:
    """Returns the address seen by the outermost trusted proxy; anyone can forge the entries further left."""
    chain = [part.strip() for line in forwarded for part in line.split(",")] + [peer]
    return chain[max(0, len(chain) - 1 - hops)]


def is_public(address: str) -> bool:
    """Whether an IP address is one of a host on the public internet. Raises ValueError."""
    return _is_public(ipaddress.ip_address(address))


def network_of(address: str) -> Network | None:
    """Returns the /24 or /48 of an address, with or without a port; None if it is not an address."""
    found = _parsed(address)
    return found and _around(found)


def public_network(address: str) -> str | None:
    """Returns the network of a public address; None for a private one, a proxy's or of the operator's own network."""
    found = _parsed(address)
    return str(_around(found)) if found and _is_public(found) else None


def _is_public(found: Address) -> bool:
    return any(found in world for world in _WORLD) and not any(
        found in special for special in _SPECIAL
    )


def _parsed(address: str) -> Address | None:
    with_port = _PORT.fullmatch(address)
    try:
        found = ipaddress.ip_address((with_port[1] or with_port[2]) if with_port else address)
    except ValueError:
        return None
    return found if isinstance(found, ipaddress.IPv4Address) else _translated(found)


def _translated(found: ipaddress.IPv6Address) -> Address:
    """Returns the IPv4 address of a person whom a gateway gave this one: IPv4-mapped, NAT64, 6to4, Teredo; else it."""
    if found in _NAT64:
        return ipaddress.IPv4Address(found.packed[-4:])
    _, teredo = found.teredo or (None, None)
    return found.ipv4_mapped or found.sixtofour or teredo or found


def _around(found: Address) -> Network:
    return ipaddress.ip_network((found.packed, 24 if found.version == 4 else 48), strict=False)
