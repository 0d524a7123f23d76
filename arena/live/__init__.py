"""Live battles: sessions, the generation queue, streaming, the store."""
