"""How far judges and metrics agree with people."""
