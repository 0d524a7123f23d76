"""Where a server is: told to the public unless it stands on the operator's own network."""

import json

import pytest

from arena.inference.endpoint import Endpoint, EndpointError, place_of
from arena.types import Secret

AZURE = "https://name.openai.azure.com/openai/deployments/gpt-4o"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://api.openai.com/v1", "api.openai.com"),
        ("https://gateway.example.org:443/v1/account-7f3a/openai", "gateway.example.org"),
        ("https://8.8.8.8/v1", "8.8.8.8"),
        ("https://[2606:4700::1]/v1", "2606:4700::1"),
        ("https://xn--bcher-kva.xn--p1ai/v1", "xn--bcher-kva.xn--p1ai"),
    ],
)
def test_a_public_server_is_named_by_its_host(address, host):
    assert place_of(address) == host


@pytest.mark.parametrize(
    "address",
    [
        *(
            "http://10.0.0.5:8000/v1",
            "https://10.0.0.5/v1",
            "https://[fd00::5]/v1",
            "https://100.64.1.2/v1",
        ),
        *(
            "http://localhost:8000/v1",
            "https://localhost/v1",
            "https://vllm/v1",
            "https://localhost./v1",
        ),
        *(
            "https://gpu.internal/v1",
            "https://GPU.Local/v1",
            "https://vllm.svc.cluster.local/v1",
            "https://127.1/v1",
        ),
        *("https://0x7f.0x1/v1", "http://gpu7.example.edu/v1", "https://gpu7.example.edu:8000/v1"),
        *("", "10.0.0.5", "https://", "</dd><script>", "https://key@api.example.org/v1"),
    ],
)
def test_any_other_is_the_operators_own(address):
    assert place_of(address) == "the operator's own server"


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions"])
def test_an_azure_deployment_has_a_query_and_a_header_of_its_own(ending):
    endpoint = Endpoint(f"{AZURE}{ending}?api-version=2024-10-21-preview", Secret("sk-1"), "ada")
    assert (endpoint.folder, endpoint.query) == (AZURE, {"api-version": "2024-10-21-preview"})
    assert endpoint.address == f"{AZURE}?api-version=2024-10-21-preview"
    assert endpoint.credentials == ("api-key", Secret("sk-1"))
    assert place_of(endpoint.address) == "name.openai.azure.com"


def test_any_other_endpoint_has_a_bearer_and_no_query():
    endpoint = Endpoint("https://api.example.org/v1/", Secret("sk-1"))
    assert (endpoint.folder, endpoint.query) == ("https://api.example.org/v1/", {})
    assert endpoint.credentials == ("authorization", Secret("Bearer sk-1"))
    assert endpoint.address == "https://api.example.org/v1"


@pytest.mark.parametrize(
    "address",
    [
        "https://api.example.org/v1?api-version=2024-10-21",
        f"{AZURE}?api-version=2024-10-21&code=sk-12345678",
        f"{AZURE}?code=sk-12345678",
        f"{AZURE}?api-version=",
        "https://api.example.org?api-version=2024-10-21",
    ],
)
def test_any_other_query_is_refused_and_not_shown(address):
    with pytest.raises(EndpointError) as refused:
        Endpoint(address, Secret("sk-1"))
    assert "sk-12345678" not in str(refused.value) and "isn't shown" in str(refused.value)
    assert "openai.azure.com/openai/deployments/MODEL?api-version=" in str(refused.value)


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions"])
def test_a_deployment_without_its_version_is_told_what_is_missing(ending):
    with pytest.raises(EndpointError, match="needs its api-version. It"):
        Endpoint(f"{AZURE}{ending}", Secret("sk-1"))


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions"])
def test_azures_newer_address_has_the_same_header(ending):
    base = "https://name.openai.azure.com/openai/v1"
    endpoint = Endpoint(f"{base}{ending}?api-version=preview", Secret("sk-1"), "ada")
    assert (endpoint.folder, endpoint.query) == (base, {"api-version": "preview"})
    assert endpoint.credentials == ("api-key", Secret("sk-1"))
    assert Endpoint(f"{base}/", Secret("sk-1")).credentials[0] == "authorization"


KEY = 'sk-a/b+"c%9\\z'


@pytest.mark.parametrize(
    "written",
    [
        KEY.encode().hex().upper(),
        "sk-a%2fb%2b%22c%259%5cz",
        json.dumps(KEY)[1:-1],
        json.dumps(KEY)[1:-1].replace("/", r"\/"),
    ],
)
def test_a_key_is_taken_out_in_either_case_and_as_json(written):
    endpoint = Endpoint("https://api.example.org/v1", Secret(KEY))
    assert endpoint.redact(f"no {written} here") == "no [key] here"
