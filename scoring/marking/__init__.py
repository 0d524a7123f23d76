"""Marking: people mark a report's answers, or label their errors, without knowing model or judge."""
