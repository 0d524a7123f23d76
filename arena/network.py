"""Client address of a request, and its network: a /24 of IPv4 or a /48 of IPv6.

A /48 is the largest network that providers give to one customer; with a /56 for each home, it has as many homes as a
/24 has addresses.
"""

import ipaddress
import re
from collections.abc import Sequence

_PORT = re.compile(r"\[(.*)\](?::\d+)?|([\d.]+):\d+")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_WORLD = tuple(ipaddress.ip_network(text) for text in ("0.0.0.0/0", "2000::/3"))
"""All of IPv4, and the part of IPv6 that is assigned to networks."""
_SPECIAL = tuple(
    ipaddress.ip_network(text)
    for text in """
        0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
        192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24
        198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
        2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20
    """.split()
)
"""IANA's special-purpose addresses (RFC 6890) within `_WORLD`, and multicast; Python's lists differ by version."""


def client_address(peer: str, forwarded: Sequence[str], hops: int) -> str:
    """Returns the address seen by the outermost trusted proxy; anyone can forge the entries further left.

    `peer` is the address that connected, `forwarded` has the X-Forwarded-For lines, and `hops` is the number of trusted
    proxies.
    """
    chain = [part.strip() for line in forwarded for part in line.split(",")]
    chain.append(peer)
    index = len(chain) - 1 - hops
    return chain[max(0, index)]


def is_public(address: str) -> bool:
    """Returns whether an IP address is public. Raises ValueError for other texts."""
    return _is_public(ipaddress.ip_address(address))


def network_of(address: str) -> Network | None:
    """Returns the /24 or /48 of an address, with or without a port; None if it is not an address."""
    parsed = _parse(address)
    return None if parsed is None else _network_around(parsed)


def public_network(address: str) -> str | None:
    """Returns the network of a public address; None for a private address, such as one of a proxy."""
    parsed = _parse(address)
    if parsed is None or not _is_public(parsed):
        return None
    return str(_network_around(parsed))


def _is_public(address: Address) -> bool:
    is_assigned = any(address in world for world in _WORLD)
    is_special = any(address in special for special in _SPECIAL)
    return is_assigned and not is_special


def _parse(address: str) -> Address | None:
    """Returns the address of a text, with or without a port; None if it is not an address."""
    with_port = _PORT.fullmatch(address)
    if with_port:
        in_brackets, before_port = with_port.groups()
        address = in_brackets or before_port
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    if isinstance(parsed, ipaddress.IPv6Address):
        return _unwrap_ipv4(parsed)
    return parsed


def _unwrap_ipv4(address: ipaddress.IPv6Address) -> Address:
    """Returns the IPv4 address inside an IPv4-mapped, NAT64, 6to4 or Teredo address; any other address as it is."""
    if address in _NAT64:
        return ipaddress.IPv4Address(address.packed[-4:])
    teredo_client = None
    if address.teredo:
        _, teredo_client = address.teredo
    return address.ipv4_mapped or address.sixtofour or teredo_client or address


def _network_around(address: Address) -> Network:
    prefix_bits = 24 if address.version == 4 else 48
    return ipaddress.ip_network((address.packed, prefix_bits), strict=False)
