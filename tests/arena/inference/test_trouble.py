"""Troubles: how errors of servers are told apart by their status and their words."""

import pytest

from arena.inference.trouble import refusal

GROQ = (
    "Rate limit reached for model `llama` on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000. Please "
    "try again in 7.66s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing"
)
OPENAI = (
    "Rate limit reached for gpt-4o on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s. "
    "You can increase your rate limit by adding a payment method to your account at "
    "https://platform.openai.com/account/billing."
)


@pytest.mark.parametrize("sentence", [GROQ, OPENAI])
def test_a_rate_limit_that_can_be_raised_for_money_is_no_empty_account(sentence):
    error = {"message": sentence, "type": "tokens", "code": "rate_limit_exceeded"}
    trouble = refusal(429, {"retry-after": "8"}, {"error": error})
    assert (trouble.kind, trouble.wait) == ("busy", 8)


@pytest.mark.parametrize("code", ["insufficient_quota", None])
def test_an_account_without_quota_is_empty(code):
    error = {"message": "You exceeded your current quota, check your billing details", "code": code}
    assert refusal(429, {}, {"error": error}).kind == "spent"


def test_an_apostrophe_of_any_form_denies_access():
    for sentence in ("You don't have access to that model", "You don’t have access to that model"):
        trouble = refusal(403, {}, {"error": {"message": sentence}})
        assert trouble.kind == "unknown"
        assert trouble.words.startswith("this key has no access to the model (403)")


@pytest.mark.parametrize("field", [["temperature"], {"name": "temperature"}, 1, None])
def test_a_field_in_another_form_than_a_text_is_no_name(field):
    error = {"message": "temperature is not supported here", "param": field}
    trouble = refusal(400, {}, {"error": error})
    assert trouble.kind == "field" and trouble.fields == {"temperature"}
    assert trouble.words == "the model doesn't accept a field of the request"
