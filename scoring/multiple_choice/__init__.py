"""Multiple choice: reading files, letters out of answers, CircularEval, metrics."""
