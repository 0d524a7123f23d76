"""Ranked votes: models merged by aliases, and excluded votes, counted by their reason.

People who know the names are not blind: they saw them, or read an answer that names its model. FastChat's cleaner
(`clean_battle_data.py`) excludes these votes too.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, compress

from arena.formats.base import Battles, OtherRow, Vote
from arena.formats.registry import origin
from arena.live.identity_leaks import names_itself
from arena.types import grouped

_ONE_MODEL = "comparing a model with itself"
_DUPLICATE = "marked as duplicate by the file"
_NAMES_ITSELF = "on an answer that names its model"
_NAMED = "with model names visible"
"""_ONE_MODEL to _NAMED: reasons for excluding votes, in words that follow "votes"."""
_HINTS = {_NAMED: ". To include them, add --named"}
_SPACING = ("Pd", "Pc", "Zs", "Zl", "Zp", "Cc", "Cf")
"""Unicode's categories of dashes, underscores, blanks, line ends and invisible signs."""
MOST_RATED = 1000
"""The most models: ratings take memory and time by the square of their number."""
_MOST_LISTED = 5
"""The most names that a notice lists, and the most notices about alike names."""
_MOST_NAMES = 500
"""The most of the file's model names that answers are searched for."""


class ManyModelsError(ValueError):
    """Votes have more than MOST_RATED models."""


class AliasError(ValueError):
    """An alias cannot be used; the message says why."""


def rankable_battles(
    battles: Battles, with_names: bool = False, aliases: Mapping[str, str] | None = None
) -> Battles:
    """Returns battles without the votes that do not count for a ranking; their rows stay as rows without votes.

    `with_names`: whether votes cast with visible names count. Raises AliasError for a model without votes, and
    ManyModelsError.
    """
    names = {*battles.model_a, *battles.model_b}
    if len(names) > MOST_RATED:
        raise ManyModelsError(
            f"The votes have {len(names):,} models, and at most {MOST_RATED:,} can be rated. "
            "Check that the columns of models have their names."
        )
    battles = _rename_models(battles, aliases or {})
    reasons = list(_reasons(battles, with_names, names))
    counts = Counter(reason for reason in reasons if reason)
    notices = []
    for reason, count in counts.items():
        noun = "vote" if count == 1 else "votes"
        notices.append(f"{count:,} {noun} {reason} left out{_HINTS.get(reason, '')}")
    notices += _alike_notices({*battles.model_a, *battles.model_b})
    if counts:
        battles = _without(battles, [reason is not None for reason in reasons])
    return replace(battles, notices=(*battles.notices, *notices))


def aliases_of(texts: Sequence[str]) -> dict[str, str]:
    """Returns new names by old ones, from texts OLD=NEW. Raises AliasError."""
    aliases: dict[str, str] = {}
    for text in texts:
        before, _equals, after = text.partition("=")
        old = before.strip()
        new = after.strip()
        if not old or not new:
            raise AliasError(f"--alias {text!r} isn't two model names. Write OLD=NEW.")
        earlier = aliases.get(old, new)
        if earlier != new:
            raise AliasError(f"--alias gives {old!r} two names, {earlier!r} and {new!r}. Keep one.")
        aliases[old] = new
    return {old: _last_name(old, aliases) for old in aliases}


def _last_name(old: str, aliases: Mapping[str, str]) -> str:
    """Returns the last name in a chain of aliases. Raises AliasError for a circle."""
    name = old
    for _ in aliases:  # no chain is longer
        name = aliases.get(name, name)
    if name in aliases:
        raise AliasError(f"--alias turns {name!r} back into itself. Leave one of the names out.")
    return name


def _rename_models(battles: Battles, aliases: Mapping[str, str]) -> Battles:
    """Returns battles with new names by old ones. Raises AliasError for a model without votes."""
    unknown = sorted(aliases.keys() - {*battles.model_a, *battles.model_b})
    if unknown:
        raise AliasError(
            f"--alias names {unknown[0]!r}, which has no votes. Write the name as the file does."
        )
    if not aliases:
        return battles
    return replace(
        battles,
        model_a=tuple(aliases.get(model, model) for model in battles.model_a),
        model_b=tuple(aliases.get(model, model) for model in battles.model_b),
    )


def _reasons(battles: Battles, with_names: bool, models: set[str]) -> Iterator[str | None]:
    """Yields the reason for excluding each vote, None for a vote that counts; `models` by their names in the file.

    An answer that names its model reveals nothing to a person who saw the names, or to a judge model.
    """
    # a name of letters alone may be an ordinary word, and one without letters a number
    names = sorted(name for name in models if _has_letters_and_others(name))
    votes = zip(
        battles.model_a, battles.model_b, battles.blind, battles.judge, battles.rows, strict=True
    )
    for model_a, model_b, blind, judge, row in votes:
        form, original_row = origin(battles, row)
        if model_a == model_b:
            yield _ONE_MODEL
        elif form and form.is_duplicate(original_row):
            yield _DUPLICATE
        elif blind is False:
            yield None if with_names else _NAMED
        elif form and not judge and _names_a_model(form.answers(original_row), names[:_MOST_NAMES]):
            yield _NAMES_ITSELF
        else:
            yield None


def _has_letters_and_others(name: str) -> bool:
    return any(sign.isalpha() for sign in name) and not name.isalpha()


def _names_a_model(answers: Iterable[str], names: Sequence[str]) -> bool:
    return any(names_itself(answer, names) for answer in answers)


def _without(battles: Battles, are_out: Sequence[bool]) -> Battles:
    """Returns battles with the excluded votes as rows without votes, each in its place."""
    are_counted = [not is_out for is_out in are_out]
    counted_before = [0, *accumulate(are_counted)]
    """The number of counted votes before each vote, and before the end."""
    others_before = grouped((other.votes_before, other.row) for other in battles.others)
    others: list[OtherRow] = []
    for index, counted in enumerate(counted_before):
        others += [OtherRow(counted, row) for row in others_before.get(index, ())]
        if index < len(battles) and are_out[index]:
            others.append(OtherRow(counted, battles.rows[index]))
    columns = {name: tuple(compress(getattr(battles, name), are_counted)) for name in Vote._fields}
    rows = tuple(compress(battles.rows, are_counted))
    return replace(battles, **columns, rows=rows, others=tuple(others))


def _alike_notices(models: set[str]) -> Iterator[str]:
    """Yields notices about names that differ only in case, dashes, underscores or blanks."""
    spellings = grouped((_bare_name(model), model) for model in sorted(models))
    alike = [names for names in spellings.values() if len(names) > 1]
    for names in alike[:_MOST_LISTED]:
        listed = ", ".join(map(repr, names[:_MOST_LISTED]))
        aliases = [f"{name}={names[0]}" for name in names[1:_MOST_LISTED]]
        options = " ".join(f"--alias {alias!r}" for alias in aliases)
        yield f"Names that differ only in case, dashes or blanks: {listed}. If they're one model, add {options}"
    if len(alike) > _MOST_LISTED:
        yield f"The names of {len(alike) - _MOST_LISTED} more models differ only like this."


def _bare_name(model: str) -> str:
    """Returns a model's name without case, dashes, underscores and blanks."""
    lower = unicodedata.normalize("NFKC", model).casefold()
    return "".join(sign for sign in lower if unicodedata.category(sign) not in _SPACING)
