"""A small item bank of our own: pictures drawn by the scripts in this folder, and answers written by hand."""
