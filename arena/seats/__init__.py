"""Seats: the places of people who work through any task of many pieces, with links, states and pay."""
