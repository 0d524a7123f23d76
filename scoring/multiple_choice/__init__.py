"""Multiple choice: files of answers, extraction of option letters, CircularEval and metrics."""
