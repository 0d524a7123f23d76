"""Scoring jobs: uploads, the queue, the worker, submissions."""
