"""Operators: what they see, what they may do, and what they publish."""
