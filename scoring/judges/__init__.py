"""How a judge is asked: client, rate limit, replies, cache, batches, prompt-injection checks."""
