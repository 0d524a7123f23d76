"""Scoring jobs: uploads, queue, worker, submissions."""
