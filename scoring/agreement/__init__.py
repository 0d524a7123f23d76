"""Agreement of judges and metrics with people."""
