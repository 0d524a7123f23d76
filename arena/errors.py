"""Errors that voters read: English sentences with placeholders, by which pages find the translation."""


class VoterError(ValueError):
    """An error for a voter; `values` fill the `{}` of its sentence."""

    def __init__(self, sentence: str, *values: object) -> None:
        super().__init__(sentence.format(*values) if values else sentence)
        self.sentence = sentence
        self.values = values
