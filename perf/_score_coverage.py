"""Coverage of the intervals of scores: grades, shared pictures, means over subtasks, differences, partial files.

Each run draws a model's answers to new questions about new pictures; the truth is the mean score of infinitely many.
With some probability an answer is the one that its picture's questions have in common, else it is drawn alone. The
truth of a partial file is the score of the same file when it is complete.
"""

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np

from arena.ratings.votes import Floats
from perf._simulations import Estimates, Target
from scoring.report import ScoreLine, difference, line
from scoring.specs.figure_values import figure_line, share_line
from scoring.specs.figures import Figure
from scoring.specs.scored_rows import scored_rows

MEANS = np.array([0.05, 0.2, 0.5, 0.8, 0.94])
"""Mean grades of the cells."""
FEW = Target(least_share=0.92, most_share=1.0, most_width=4.0)
"""Few questions: their scores are coarse, and an interval is wide."""
SHARED = Target(least_share=0.92, most_share=0.99, least_cell_share=0.87, most_width=1.6)
EVEN = Target(least_share=0.93, most_share=0.985, most_width=1.25)
KNOWN = Target(least_share=0.95, most_share=1.0, most_width=10.0)
"""Wide: the interval covers new questions too, while the truth is the score of one complete file."""


def _estimates(lines: list[ScoreLine]) -> Estimates:
    return Estimates(
        np.array([line.mean for line in lines]),
        np.array([line.low for line in lines]),
        np.array([line.high for line in lines]),
    )


def on_pictures(
    chance: float, sizes: np.ndarray, alike: float, coin: np.random.Generator
) -> tuple[np.ndarray, list[str]]:
    """Returns whether each question is answered right, and the name of its picture.

    `sizes`: the number of questions about each picture; `alike`: the correlation of two answers on a picture.
    """
    picture = np.arange(len(sizes)).repeat(sizes)
    # Two answers are the same draw if both are shared, which has the probability `alike`.
    is_shared = coin.random(len(picture)) < np.sqrt(alike)
    draw = np.where(is_shared, coin.random(len(sizes))[picture], coin.random(len(picture)))
    return draw < chance, [str(number) for number in picture]


@dataclass(frozen=True)
class Grades:
    """Mean grades over several runs of a model; the cells are MEANS. Grades are 0, 1 or sometimes tenths between."""

    name: str
    questions: int
    runs: int = 1
    target: Target = FEW

    def truth(self) -> Floats:
        return 100 * MEANS

    def run(self, coin: np.random.Generator) -> Estimates:
        return _estimates([line("", self._grades(mean, coin)) for mean in MEANS])

    def _grades(self, mean: float, coin: np.random.Generator) -> Floats:
        share_of_tenths = min(0.25, mean, 1 - mean)
        # Tenths have the mean 0.5, so the other grades bring the mean of all to `mean`.
        right = (mean - share_of_tenths / 2) / (1 - share_of_tenths)
        grade = (coin.random(self.questions) < right).astype(np.float64)
        partly = coin.random(self.questions) < share_of_tenths
        tenths = coin.integers(2, 9, self.questions) / 10
        grades = np.where(partly, tenths, grade)[:, None].repeat(self.runs, axis=1)
        # In each of several runs, a grade of tenths moves by one tenth or stays.
        shaken = coin.integers(-1, 2, grades.shape) / 10 * (self.runs > 1)
        return grades + np.where(partly[:, None], shaken, 0.0)


@dataclass(frozen=True)
class SharedPictures:
    """Shares of right answers where questions share pictures; the cells are `chances`."""

    name: str
    pictures: int
    fewest: int
    """Fewest questions about a picture."""
    most: int
    alike: float
    """Correlation of two answers on a picture."""
    target: Target = SHARED
    chances: ClassVar[Floats] = np.array([0.1, 0.5, 0.9])

    def truth(self) -> Floats:
        return 100 * self.chances

    def run(self, coin: np.random.Generator) -> Estimates:
        return _estimates([self._share(chance, coin) for chance in self.chances])

    def _share(self, chance: float, coin: np.random.Generator) -> ScoreLine:
        right, pictures = on_pictures(chance, self.sizes(coin), self.alike, coin)
        return share_line("", right.tolist(), pictures)

    def sizes(self, coin: np.random.Generator) -> np.ndarray:
        return coin.integers(self.fewest, self.most + 1, self.pictures)


@dataclass(frozen=True)
class GradesOnPictures(SharedPictures):
    """Graded answers on common pictures: three in ten grades are drawn towards the middle."""

    def truth(self) -> Floats:
        return 100 * (0.88 * self.chances + 0.06)

    def _share(self, chance: float, coin: np.random.Generator) -> ScoreLine:
        right, pictures = on_pictures(chance, self.sizes(coin), self.alike, coin)
        grades = np.where(coin.random(len(right)) < 0.3, 0.6 * right + 0.2, right)
        return line("", grades.reshape(-1, 1), pictures)


@dataclass(frozen=True)
class DifferencesOnPictures(SharedPictures):
    """Differences of two models on common pictures: one is right with a chance of 0.3 `chances`, the other of 0.1."""

    def truth(self) -> Floats:
        return 100 * (0.3 * self.chances - 0.1)

    def _share(self, chance: float, coin: np.random.Generator) -> ScoreLine:
        sizes = self.sizes(coin)
        first, pictures = on_pictures(0.3 * chance, sizes, self.alike, coin)
        second, _ = on_pictures(0.1, sizes, self.alike, coin)
        moved = first.astype(np.float64) - second
        return difference("", moved.tolist(), pictures, float(np.abs(moved).max()))


@dataclass(frozen=True)
class Subtasks:
    """Means over subtasks that are all easy, all middling, evenly spread, or half hard and half easy."""

    name: str
    subtasks: int
    fewest: int
    """Fewest questions of a subtask."""
    most: int
    on_picture: int = 1
    """Questions of a subtask that are about one picture."""
    target: Target = EVEN

    def chances(self) -> Floats:
        """Returns the chance of a right answer by case and subtask, shape (4, subtasks)."""
        spread = (np.arange(self.subtasks) + 0.5) / self.subtasks
        easy = np.full(self.subtasks, 0.97)
        return np.array(
            [easy, np.full(self.subtasks, 0.5), spread, np.where(spread < 0.5, 0.3, easy)]
        )

    def truth(self) -> Floats:
        return 100 * self.chances().mean(axis=1)

    def run(self, coin: np.random.Generator) -> Estimates:
        return _estimates([self._mean(chances, coin) for chances in self.chances()])

    def _mean(self, chances: Floats, coin: np.random.Generator) -> ScoreLine:
        rights: list[float | None] = []
        groups: list[str] = []
        pictures: list[str] = []
        for number, chance in enumerate(chances):
            size = int(coin.integers(self.fewest, self.most + 1))
            sizes = np.full(ceil(size / self.on_picture), self.on_picture)
            right, names = on_pictures(chance, sizes, 0.5, coin)
            rights += map(float, right[:size])
            groups += [f"{number}"] * size
            pictures += [f"{number}-{picture}" for picture in names[:size]]
        rows = scored_rows(rights, {"group": groups}, pictures=pictures)
        return figure_line("mean", rows, {"mean": Figure(mean_of="group")})


@dataclass(frozen=True)
class PartialFiles:
    """Shares of right answers in a part of a file, minus those in the complete file."""

    name: str
    questions: int
    missing: int
    target: Target = KNOWN
    chances: ClassVar[Floats] = np.array([0.1, 0.5, 0.9])

    def truth(self) -> Floats:
        return np.zeros(len(self.chances))

    def run(self, coin: np.random.Generator) -> Estimates:
        value, low, high = np.array([self._part(chance, coin) for chance in self.chances]).T
        return Estimates(value, low, high)

    def _part(self, chance: float, coin: np.random.Generator) -> tuple[float, float, float]:
        """Returns the part's share and the ends of its interval, each minus the complete file's share."""
        right = coin.random(self.questions) < chance
        part = share_line("", [*right[self.missing :].tolist(), *[None] * self.missing])
        assert part.mean is not None and part.low is not None and part.high is not None
        whole = 100 * right.mean()
        return part.mean - whole, part.low - whole, part.high - whole


SCORES = (
    Grades("grades of 2 questions", 2),
    Grades("grades of 3 questions", 3),
    Grades("grades of 5 questions", 5),
    Grades("grades of 8 questions", 8),
    Grades("grades of 14 questions", 14),
    Grades("grades of 37 questions", 37),
    Grades("grades of 8 questions, 5 runs", 8, 5),
    Grades("grades of 218 questions, 5 runs", 218, 5, EVEN),
    SharedPictures("100 pictures of a question", 100, 1, 1, 0.0, EVEN),
    SharedPictures("200 pictures, 8 questions each", 200, 8, 8, 0.3, EVEN),
    SharedPictures("40 pictures, 8 questions each", 40, 8, 8, 0.5),
    SharedPictures("40 pictures, 1 to 20 questions", 40, 1, 20, 0.2),
    SharedPictures("15 pictures, 1 to 20 questions", 15, 1, 20, 0.5),
    SharedPictures("30 pictures, 20 copies each", 30, 20, 20, 1.0),
    SharedPictures("100 pictures, 1 to 20 unlike questions", 100, 1, 20, 0.0),
    GradesOnPictures("grades, 40 pictures, 1 to 8 questions", 40, 1, 8, 0.5),
    DifferencesOnPictures("differences, 40 pictures of 8", 40, 8, 8, 0.5),
    Subtasks("162 subtasks of 8 to 30", 162, 8, 30),
    Subtasks("162 subtasks of 3 to 8", 162, 3, 8),
    Subtasks("28 subtasks of 100 to 300", 28, 100, 300),
    Subtasks("12 subtasks of 3 to 8", 12, 3, 8, target=FEW),
    Subtasks("3 subtasks of 5 to 20", 3, 5, 20, target=FEW),
    Subtasks("28 subtasks, 4 questions a picture", 28, 8, 40, 4),
    PartialFiles("a third of 60 missing", 60, 20),
    PartialFiles("a tenth of 400 missing", 400, 40),
)
