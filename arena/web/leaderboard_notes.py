"""Leaderboard notes: sentences on a board's imported votes and excluded votes."""

from collections.abc import Iterator

from arena.leaderboard.board import Board, ImportSummary
from arena.templates import macros, plural

HTML = macros("leaderboard.html")


def import_notes(board: Board) -> Iterator[str]:
    """Yield sentences on the origin of a board's imported votes, how they count, and what they leave open."""
    told = board.import_summary
    if told is None:
        return
    if board.key.kind == "imported":
        yield "These votes were imported: they were cast elsewhere, not in this arena."
    else:
        yield HTML.imported(_votes(told.votes, " of these votes"), told.sources)
    halves = [plural(told.ties, "tie")] if told.ties else []
    halves += [f"{told.both_bad:,} \u201cboth bad\u201d"] if told.both_bad else []
    if halves:
        yield f"{' and '.join(halves)} count half to each side."
    if told.both_bad_out:
        yield f"{told.both_bad_out:,} \u201cboth bad\u201d are left out."
    yield from _gaps(told)


def own_notes(board: Board) -> Iterator[str]:
    """Yield sentences on which of this arena's votes a board counts, and which it excludes."""
    out = board.left_out
    if board.key.kind == "live":
        what = "on images that visitors brought" if board.key.source else "on items of the bank"
        yield f"Two models answered live, {what}."
        reasons = [f"{out.stopped:,} on answers that were stopped"] if out.stopped else []
        reasons += [f"{out.named:,} where an answer told which model gave it"] if out.named else []
        if reasons:
            yield f"{_votes(out.stopped + out.named)} kept outside the ranking: {', '.join(reasons)}."
    who, cast = plural(out.voters, "flagged voter"), plural(out.flagged, "vote")
    if out.voters and board.key.unflagged:
        yield f"Without {who} ({cast}): they fail check items or choose as no reader does. Their votes stay stored."
    elif out.voters:
        yield f"With {who} ({cast}), whom the board that counts leaves out."
    if out.uncounted:
        yield f"{_votes(out.uncounted)} stored and not counted: this arena counts only those of some voters."


def _gaps(told: ImportSummary) -> Iterator[str]:
    """Say how many votes were left out, or lack data that the numbers rest on."""
    if told.alone:
        yield f"{_votes(told.alone)} on a model against itself and left out."
    if told.named:
        yield f"{_votes(told.named)} cast with the names in view."
    for count, what in (
        (told.no_item, "which item they are about: each is taken for independent, which may be too narrow"),
        (0 if told.judge else told.no_voter, "who cast them"),
        (told.no_time, "when they were cast: they are on no board of some days, nor in the plot over time"),
        (told.no_images, "how many images were shown: they stand with the single images"),
    ):
        if count == told.votes and count:
            yield f"The imported votes do not say {what}."
        elif count:
            yield f"{count:,} of the imported votes do not say {what}."


def _votes(count: int, of: str = "") -> str:
    return f"1{of or ' vote'} was" if count == 1 else f"{count:,}{of or ' votes'} were"
