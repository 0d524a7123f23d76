"""People: their marks of answers, their labels of errors, and how far judges and metrics agree with them."""
