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


def client_address(peer: str, forwarded: Sequence[str], hops: int) -> str:
    """Return the address seen by the outermost trusted proxy; anyone can forge the entries further left."""
    chain = [part.strip() for line in forwarded for part in line.split(",")] + [peer]
    return chain[max(0, len(chain) - 1 - hops)]


def network_of(address: str) -> Network | None:
    """Return the /24 or /48 of an address, with or without a port; None if it is not an address."""
    found = _parsed(address)
    return found and _around(found)


def public_network(address: str) -> str | None:
    """Return the network of a public address; None for a private one, a proxy's or of the operator's own network.

    The address itself decides: a special range, such as those within 192.0.0.0/24, may be smaller than its network.
    """
    found = _parsed(address)
    return str(_around(found)) if found and found.is_global else None


def _parsed(address: str) -> Address | None:
    with_port = _PORT.fullmatch(address)
    try:
        found = ipaddress.ip_address((with_port[1] or with_port[2]) if with_port else address)
    except ValueError:
        return None
    return found if isinstance(found, ipaddress.IPv4Address) else _translated(found)


def _translated(found: ipaddress.IPv6Address) -> Address:
    """Return the IPv4 address of a person whom a gateway gave this one: IPv4-mapped, NAT64, 6to4, Teredo; else it."""
    if found in _NAT64:
        return ipaddress.IPv4Address(found.packed[-4:])
    _, teredo = found.teredo or (None, None)
    return found.ipv4_mapped or found.sixtofour or teredo or found


def _around(found: Address) -> Network:
    return ipaddress.ip_network((found.packed, 24 if found.version == 4 else 48), strict=False)
