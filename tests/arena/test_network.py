"""Which addresses are public: none of IANA's registries of special-purpose addresses."""

import ipaddress

import pytest

from arena.inference.endpoint import place_of
from arena.network import is_public, public_network

IPV4 = """0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
    192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.31.196.0/24
    192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
    224.0.0.0/4 240.0.0.0/4 255.255.255.255/32"""
IPV6 = """::1/128 ::/128 ::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64
    2001::/23 2001::/32 2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28
    2001:20::/28 2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10
    fec0::/10 ff00::/8 4000::/3 8000::/1"""
GATEWAYS = ("::ffff:0:0/96", "64:ff9b::/96", "2001::/32", "2001::/23", "2002::/16")
"""A person behind one of these is known by the IPv4 address within."""


def some(network: str) -> list[str]:
    """Return the first, the last, and an address in the middle of a network."""
    whole = ipaddress.ip_network(network)
    return [str(whole[place]) for place in (0, whole.num_addresses // 2, -1)]


@pytest.mark.parametrize("network", (IPV4 + " " + IPV6).split())
def test_no_special_purpose_address_is_public(network):
    for address in some(network):
        assert not is_public(address), address
        shown = f"[{address}]" if ":" in address else address
        assert place_of(f"https://{shown}/v1") == "the operator's own server"
        if network not in GATEWAYS:
            assert public_network(address) is None, address


@pytest.mark.parametrize(
    "address",
    [
        *("8.8.8.8", "93.184.216.34", "1.1.1.1", "192.0.1.1", "191.255.255.255", "192.1.0.0"),
        *("100.63.255.255", "100.128.0.0", "172.32.0.1", "198.17.1.1", "198.20.0.1"),
        *("2606:4700:4700::1111", "2a00:1450::8a", "2001:200::1", "2001:4860::8888", "3ffe::1"),
    ],
)
def test_the_addresses_beside_them_are(address):
    assert is_public(address) and public_network(address)


@pytest.mark.parametrize("inner", ["10.0.0.1", "192.0.0.9", "192.0.0.100", "224.1.1.1"])
def test_a_gateways_address_is_as_public_as_the_one_within(inner):
    within = ipaddress.IPv4Address(inner)
    teredo = ipaddress.IPv6Address((0x20010000 << 96) | (int(within) ^ 0xFFFFFFFF))
    sixtofour = ipaddress.IPv6Address((0x2002 << 112) | (int(within) << 80))
    for address in (f"::ffff:{inner}", f"64:ff9b::{inner}", str(teredo), str(sixtofour)):
        assert public_network(address) is None


@pytest.mark.parametrize("text", ["", "example.org", "8.8.8", "8.8.8.8:80"])
def test_what_is_no_address_is_not_judged(text):
    with pytest.raises(ValueError, match="does not appear to be"):
        is_public(text)
