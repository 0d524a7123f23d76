"""Judges: client, rate limit, replies, cache, batches, prompt-injection checks."""
