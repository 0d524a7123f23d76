"""Authoring: people write items in steps, from an instruction with pictures to a verified answer, by seats."""
