"""Seats: the places of people who work through a task of many pieces, whatever the task is: links, states, pay."""
