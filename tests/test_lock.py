"""The lock file: what a container installs is what `requirements.txt` asks for, by its hash."""

import re

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.servers import ROOT

LOCK = (ROOT / "requirements.lock").read_text("utf-8")
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==(\S+) \\$", LOCK, re.MULTILINE)
}


def test_every_range_is_satisfied_by_the_lock():
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    asked = [Requirement(line) for line in lines if line and not line.startswith("#")]
    missed = [
        one.name
        for one in asked
        if not one.specifier.contains(PINS.get(canonicalize_name(one.name), "0"))
    ]
    assert missed == ["torch"]


def test_every_pin_has_hashes_and_names_no_host():
    parts = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert len(parts) == len(PINS) and all("--hash=sha256:" in part for part in parts)
    assert "//" not in LOCK and "index" not in LOCK


def test_the_container_installs_by_hash():
    assert "--require-hashes -r requirements.lock" in (ROOT / "Dockerfile").read_text("utf-8")
