"""Authoring: people in seats write items step by step, from an instruction with pictures to a verified answer."""
