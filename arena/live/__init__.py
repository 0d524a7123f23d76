"""Live battles and the chat: sessions, the generation queue, streaming, the store."""
