"""The formats in which people hold votes, a file each, behind one pair of functions: `files.read`, `files.write`."""
