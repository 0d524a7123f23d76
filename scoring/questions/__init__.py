"""Question files on the server: what each is, and to which of them a file of answers belongs."""
