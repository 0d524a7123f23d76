"""Having a judge asked: where, how fast, for how much, and what comes back."""
