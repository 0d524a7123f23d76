"""The item bank's doors: items and answers come in, from files, from the web, or from models that are asked."""
