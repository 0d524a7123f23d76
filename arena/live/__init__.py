"""Live battles and the chat: models answer while their visitors watch."""
