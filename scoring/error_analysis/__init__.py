"""Error analysis: why a model's wrong answers are wrong, as people label a sample of them (MMT-Bench, section 4.4)."""
