"""Administration: the dashboard, moderation, erasure, the public export."""
