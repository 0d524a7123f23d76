"""Which predictions are no answer of a model, and which only speak of errors."""

import pytest

from scoring.failures import ENDLESS, NOTHING, SERVER, failure

ERRORS = """
Failed to obtain answer via API.
Error: 429 Too Many Requests
Error code: 400 - {'error': {'message': "Invalid content", 'type': 'invalid_request_error'}}
Error: rate limited
Request timed out.
APIConnectionError: Connection error.
CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.10 GiB total capacity)
torch.OutOfMemoryError: CUDA out of memory.
openai.RateLimitError: Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-4o'}}
[ERROR] 503 Service Unavailable
[ERROR] Request timed out
[Error] Connection refused
HTTPSConnectionPool(host='api.openai.com', port=443): Max retries exceeded with url: /v1
{"error": {"message": "The server is overloaded", "code": 503}}
<html><head><title>502 Bad Gateway</title></head></html>
The model is overloaded. Please try again later.
This model's maximum context length is 8192 tokens. However, you requested 9000 tokens
请求超时
接口调用失败，请稍后重试
<think></think>Error: 429
""".strip().splitlines()
ANSWERS = """
The error message says 429
Error: division by zero
The screen shows Error: 429
Error: 429. The answer is B
Error: the image shows a cat, so B
B. Error 429
Error 404
HTTP 404
connection error
Internal Server Error
Out of memory
The service is unavailable on Sundays
Error analysis: the standard error is 0.5
TypeError: unsupported operand
The model is wearing red
None
429
""".strip().splitlines()


@pytest.mark.parametrize("text", ERRORS)
def test_a_text_that_is_an_error_is_no_answer(text):
    assert failure(text) == SERVER


@pytest.mark.parametrize("text", ANSWERS)
def test_a_text_that_speaks_of_an_error_is_an_answer(text):
    assert failure(text) is None


def test_a_traceback_is_an_error_however_long():
    lines = '  File "client.py", line 3, in answer: the answer is B\n' * 100
    assert failure(f"Traceback (most recent call last):\n{lines}openai.APIError: x") == SERVER


def test_nothing_and_endless_reasoning_are_no_answers():
    assert failure("") == failure(" \n") == failure("<think>A</think>") == NOTHING
    assert failure("<think>It may be A") == ENDLESS
    assert failure("<think>It may be A</think>B") is None
