"""What operators see and do: the dashboard, moderation, erasure, the public export."""
