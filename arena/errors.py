"""Errors that voters read: sentences in English with places for values, by which pages find them in their language."""


class VoterError(ValueError):
    """An error in words for a voter. `values` go into the `{}` of its sentence."""

    def __init__(self, sentence: str, *values: object) -> None:
        super().__init__(sentence.format(*values) if values else sentence)
        self.sentence = sentence
        self.values = values
