"""Rules: one question and one answer in, a score or nothing out."""
