"""A host's key and certificate, signed by itself, for servers that speak TLS on loopback."""

import shutil
import subprocess
from pathlib import Path

import pytest

HOST = "pictures.example"


@pytest.fixture(scope="session")
def certificate(tmp_path_factory) -> Path:
    """A key and a certificate for the host, in one file."""
    openssl = shutil.which("openssl")
    assert openssl, "the openssl command line is needed to make a certificate for the test"
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}", "-addext",
         f"subjectAltName=DNS:{HOST},DNS:localhost,IP:127.0.0.1", "-keyout", str(path), "-out", f"{path}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path
