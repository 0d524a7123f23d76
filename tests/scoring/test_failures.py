"""Which predictions are no answer of a model, and which only speak of errors."""

import pytest

from arena.reasoning import answer_of
from scoring.failures import ENDLESS, NOTHING, SERVER, failure
from scoring.multiple_choice.strict import strict_decision
from scoring.multiple_choice.types import Rule
from scoring.no_answers import EMPTY, no_answer

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
ERROR: API returned 500
RESOURCE_EXHAUSTED
429 RESOURCE_EXHAUSTED. {'error': {'code': 429, 'message': 'Resource has been exhausted (e.g. check quota).'}}
400 INVALID_ARGUMENT. {'error': {'code': 400}}
request failed after 5 retries
Max retries reached
[Empty response]
Sorry, there was an error with the API: 503
The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify it.
Blocked by content filter
content_filter
$ERROR$
<<ERROR>>
[FAILED]
模型调用失败
接口返回错误: 500
Error 429
Request timed out
Internal Server Error
Connection error
502 Bad Gateway
Error: Request failed with status code 500
Error generating response
KeyError: 'choices'
OutOfMemoryError
TimeoutError
rate_limit_exceeded
No response from the API
<Response [500]>
SSLError(MaxRetryError)
Error: connect ECONNREFUSED 127.0.0.1:8000
402 Payment Required
GPU out of memory
Could not get response from model
No response received from the API
StopCandidateException: finish_reason: SAFETY
Response blocked by safety filter
data_inspection_failed
Finish reason: SAFETY
upstream connect error or disconnect/reset before headers. reset reason: connection termination
{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
<!DOCTYPE html><html><head><title>504 Gateway Time-out</title></head></html>
ThrottlingException: Too many tokens, please wait before trying again.
HTTPError: 500 Server Error: Internal Server Error for url: https://api.example.org/v1/chat
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
Error code: 404
404 Not Found
Out of memory
The service is unavailable on Sundays
Error analysis: the standard error is 0.5
TypeError: unsupported operand
The model is wearing red
None
NA
429
500
The model is currently overloaded with clothes
The server is overloaded with plates
Error: rate limit of 30 km/h is shown
ERROR: the model is a woman
Error: The server is serving wine
Error: Failed to connect wires
Error: No response from the dog
ERROR
FAILED
[no]
(no response)
no response
No service
Safety violation
HTTP error 404
The path is blocked by a filter
Engine failure
Bad connection
The gateway is blocked
Unauthorized
KeyError
500 errors
IndexError: list index out of range
I am unable to process the image
The API returned 500 documents
{"error": "none", "answer": "B"}
nano
""".strip().splitlines()


@pytest.mark.parametrize("text", ERRORS)
def test_a_text_that_is_an_error_is_no_answer(text):
    assert failure(answer_of(text)) == SERVER


@pytest.mark.parametrize("text", ANSWERS)
def test_a_text_that_speaks_of_an_error_is_an_answer(text):
    assert failure(answer_of(text)) is None


def test_a_traceback_is_an_error_however_long():
    lines = '  File "client.py", line 3, in answer: the answer is B\n' * 100
    assert (
        failure(answer_of(f"Traceback (most recent call last):\n{lines}openai.APIError: x"))
        == SERVER
    )


def test_nothing_and_endless_reasoning_are_no_answers():
    assert (
        failure(answer_of(""))
        == failure(answer_of(" \n"))
        == failure(answer_of("<think>A</think>"))
        == NOTHING
    )
    for text in ("nan", "NaN", "null", "[]", "{}", "<NA>", '""', "<think>A</think>nan"):
        assert failure(answer_of(text)) == NOTHING
    assert (
        failure(answer_of("<think>It may be A"))
        == failure(answer_of("Thinking...\nIt may be A"))
        == ENDLESS
    )
    assert failure(answer_of("<think>It may be A</think>B")) is None


@pytest.mark.parametrize("text", ["null", "nan", "[]", "Connection error", "Internal Server Error"])
def test_what_a_reference_or_an_option_says_too_is_an_answer(text):
    assert no_answer(text) in (EMPTY, SERVER)
    assert no_answer(text, ["cat", text]) == ""
    assert strict_decision(text, {"A": "cat", "B": "dog"}).rule in (Rule.EMPTY, Rule.FAILED)
    if text != "[]":
        assert strict_decision(text, {"A": "cat", "B": text}).letter == "B"
