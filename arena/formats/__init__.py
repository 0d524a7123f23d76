"""Vote file formats, one file per format."""
