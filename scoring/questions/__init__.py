"""Question files on the server, and their match with files of answers."""
