"""How many examples a property test tries."""

from hypothesis import settings


def examples(number: int) -> int:
    """Return so many in the soak, and in the suite as many as of any other property."""
    is_soak = settings.get_current_profile_name() == "soak"
    return number if is_soak else settings.default.max_examples
