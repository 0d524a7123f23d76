"""Letters: the option of a multiple-choice question that an answer chooses."""

import json
import re
import zlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from scoring.judges.spec import Ask, JudgeSpec, Reply
from scoring.multiple_choice.extract import (
    PROMPTS,
    ask_for_letter,
    ask_until_read,
    extract,
    judge_request,
    language,
    letter_request,
    read_reply,
)
from scoring.multiple_choice.option_texts import listed_options
from scoring.multiple_choice.paper import vlmevalkit_decision
from scoring.multiple_choice.truths import TruthCell, read_truths
from scoring.multiple_choice.types import LETTERS, ChoiceQuestion, Decision, Protocol, Rule
from scoring.rules.base import (
    Item,
    Judged,
    NamedColumn,
    Reading,
    RuleExample,
    RuleKind,
    RuleProtocol,
    unread_reading,
)
from scoring.rules.judging import PROMPT, copied_answer
from scoring.rules.open import OpenRule
from scoring.rules.text import TextRule
from scoring.rules.toolkit_letters import READERS, LetterReader, nearest_letter

_CHOICE_PROTOCOLS: Mapping[RuleProtocol, Protocol] = {
    "strict": "strict",
    "mmbench-paper": "mmbench-paper",
    "mmt-paper": "mmt-paper",
}
"""The protocols by which our reader of letters, or a paper's, reads an answer; the others are toolkits'. Each maps to
itself, as the narrower type that the reader takes."""
_CAPITALS = frozenset(ascii_uppercase)
_NUMBER = re.compile(r"[0-9]{1,15}")
_COPIED_FORM = "the letter or the text of the option that it chooses,"
EXAMPLE_OPTIONS = ("a cup", "a plate")
"""Options of the made-up question."""
_OPEN_RULE = OpenRule()
_TEXT_RULE = TextRule()


class LetterRule(RuleKind):
    """The letter of the option that an answer chooses, A to Z."""

    heading: ClassVar[str] = "Multiple choice"
    kind: Literal["letter"] = "letter"
    options: str | None = None
    """Column with all options as a list, if they aren't in separate columns."""
    final_line: Annotated[str, StringConstraints(min_length=1, max_length=40)] | None = None
    """The beginning of the line with the answer, such as "Answer:", if the prompt asks for such a line."""
    open: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    """A second option for questions without options, such as MMMU's "Other Answers"; the first one is the truth.

    `strict` and the authors read such a question as an open one instead.
    """
    read: LetterReader = "shared"
    """lmms-eval's reader for this benchmark; `standing` is VLMEvalKit's too."""

    @property
    def example(self) -> RuleExample:
        return RuleExample("What is on the table?", "A", "A")

    @property
    def named_columns(self) -> Sequence[NamedColumn]:
        options = self.options
        if options is None:
            return super().named_columns
        cell = json.dumps(EXAMPLE_OPTIONS)
        return [*super().named_columns, NamedColumn(options, "All options, as a list", cell)]

    @property
    def truth_reasons(self) -> frozenset[str]:
        return frozenset() if self.open is None else _OPEN_RULE.truth_reasons

    def protocols(self) -> frozenset[RuleProtocol]:
        other_toolkit: RuleProtocol = "lmms-eval" if self.open is None else "authors"
        return frozenset((*_CHOICE_PROTOCOLS, "vlmevalkit", other_toolkit))

    def can_yield(self, text: str) -> bool:
        return self.open is not None or text.strip().upper() in [*LETTERS]

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        if self._is_open_question(item, protocol):
            return _OPEN_RULE.reading(self._item_with_truth(item), answer, protocol)
        if protocol not in _CHOICE_PROTOCOLS:
            return self._toolkit_reading(item, answer, protocol)
        options = self.options_of(item)
        if not options:
            return unread_reading(protocol, "the question has no options")
        decision = self._decide(options, answer, _CHOICE_PROTOCOLS[protocol])
        return self._reading_of_decision(item, decision, protocol)

    def judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec, turn: int = 0
    ) -> Generator[Ask, Reply, Judged]:
        if self._is_open_question(item, protocol):
            return (
                yield from _OPEN_RULE.judging(self._item_with_truth(item), answer, protocol, spec)
            )
        if protocol not in _CHOICE_PROTOCOLS:
            return (yield from self._toolkit_judging(item, answer, protocol, spec))
        question = self._choice_question(item)
        choice_protocol = _CHOICE_PROTOCOLS[protocol]
        decision = extract(answer, question.options, choice_protocol)
        if decision.is_open:
            decision = yield from ask_for_letter(question, answer, decision, choice_protocol, spec)
        reading = self._reading_of_decision(item, decision, protocol)
        reading = replace(self._unscored_without_truth(item, reading), is_open=False)
        return Judged(reading, decision.replies, decision.model)

    def judge_prompt(self, item: Item, protocol: RuleProtocol) -> str:
        if self._is_open_question(item, protocol) or protocol in ("lmms-eval", "authors"):
            return PROMPT
        return PROMPTS[language(self._choice_question(item))]

    def read_truth(self, item: Item, protocol: RuleProtocol) -> str:
        truth = super().read_truth(item, protocol)
        if not truth or self._is_open_question(item, protocol):
            return truth
        if protocol not in _CHOICE_PROTOCOLS:
            return self._toolkit_truth(item, protocol)
        return self._right_letter(item) or truth

    def truth_cell(self, item: Item) -> TruthCell | None:
        truth = self.truth_of(item)
        options = self.shown_options(item)
        return TruthCell(truth, options) if truth and options else None

    def wrong_truth(self, item: Item) -> str:
        if self._lacks_options(item):
            return _OPEN_RULE.wrong_truth(self._item_with_truth(item))
        is_letter = self.truth_of(item) in self.options_of(item)
        return "" if is_letter or self._right_letter(item) else "isn't one of the options"

    def submission_text(self, item: Item, answer: str, read: str) -> str:
        """The letter, or the whole answer if none was read; for a question without options the unwrapped text."""
        if self.shown_options(item):
            return read or answer
        return super().submission_text(item, answer, read)

    def options_of(self, item: Item) -> Mapping[str, str]:
        """The options by letter; for a question without options, the truth and the text for all other answers."""
        options = self.shown_options(item)
        if options or self.open is None:
            return options
        return {"A": self.truth_of(item) or "", "B": self.open}

    def shown_options(self, item: Item) -> Mapping[str, str]:
        if self.options is None:
            return item.options
        texts = listed_options(item.cells.get(self.options)) or ()
        return dict(zip(LETTERS, texts, strict=False))

    def _lacks_options(self, item: Item) -> bool:
        """Whether a question has no options, so that `open` stands for all wrong ones."""
        return self.open is not None and not self.shown_options(item)

    def _is_open_question(self, item: Item, protocol: RuleProtocol) -> bool:
        """Whether a question without options is read as an open question."""
        return protocol in ("strict", "authors") and self._lacks_options(item)

    def _item_with_truth(self, item: Item) -> Item:
        """The question for another rule, which doesn't know this one's column of right answers."""
        return replace(item, truth=self.truth_of(item))

    def _choice_question(self, item: Item) -> ChoiceQuestion:
        """The question in the form of the readers of multiple choice, where ids are numbers."""
        index = int(item.id) if _NUMBER.fullmatch(item.id) else zlib.crc32(item.id.encode())
        return ChoiceQuestion(
            index=index,
            text=item.question,
            options=self.options_of(item),
            answer=None,
            category="",
            group="",
            split="",
        )

    def _decide(self, options: Mapping[str, str], answer: str, protocol: Protocol) -> Decision:
        """The letter by our rules or a paper's; if ours read nothing, by the final line."""
        decision = extract(answer, options, protocol)
        if protocol != "strict" or not decision.is_open or self.final_line is None:
            return decision
        last = answer.rstrip().rpartition("\n")[2].strip()
        if not last.startswith(self.final_line):
            return decision
        return extract(last.removeprefix(self.final_line), options, protocol)

    def _reading_of_decision(
        self, item: Item, decision: Decision, protocol: RuleProtocol
    ) -> Reading:
        why = str(decision.rule)
        if decision.letter is None:
            return unread_reading(protocol, why, decision.is_open)
        right_letter = self._right_letter(item)
        if right_letter is not None:
            return Reading(float(decision.letter == right_letter), decision.letter, why)
        if self.truth_of(item) is not None:
            why = f"{why}; the right answer isn't one of the options"
        return Reading(None, decision.letter, why)

    def _right_letter(self, item: Item) -> str | None:
        """The letter of the option that is the truth, by letter, text or place; None if none is."""
        if self._lacks_options(item):
            return "A"
        if item.letter is not None:
            return item.letter
        cell = TruthCell(self.truth_of(item) or "", self.options_of(item))
        return read_truths([cell]).letters[0]

    def _toolkit_reading(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        """A toolkit's letter, compared with the truth as it is in the file.

        lmms-eval's shared reader compares a truth that is no letter as text.
        """
        truth = self._toolkit_truth(item, protocol)
        is_shared_reader = protocol == "lmms-eval" and self.read == "shared"
        is_text = is_shared_reader and truth not in _CAPITALS
        if is_text and self.truth_of(item) is not None:
            return _TEXT_RULE.reading(self._item_with_truth(item), answer, protocol)
        reading = self._toolkit_letter(self.options_of(item), answer, protocol)
        if not reading.read:
            return reading
        return replace(reading, score=float(reading.read == truth))

    def _toolkit_truth(self, item: Item, protocol: RuleProtocol) -> str:
        """The truth for a toolkit's comparison: as it is in the file, but for lmms-eval "(a)" as A.

        With `open`, a truth that is no letter is A, the first option of a question without options.
        """
        truth = (self.truth_of(item) or "").strip()
        if self.open is not None:
            return truth if truth in _CAPITALS else "A"
        letter = truth.strip("()").upper()
        if protocol == "lmms-eval" and letter in _CAPITALS:
            return letter
        return truth

    def _toolkit_letter(
        self, options: Mapping[str, str], answer: str, protocol: RuleProtocol
    ) -> Reading:
        """A toolkit's reading of a letter, without its score."""
        if protocol == "vlmevalkit" and self.read != "standing":
            decision = vlmevalkit_decision(self._final_text(answer), options)
            if decision.letter is None:
                return unread_reading(protocol, str(decision.rule), is_open=True)
            return Reading(None, decision.letter, str(decision.rule))
        if self.read == "nearest":
            # Only an equal text is read here: `_toolkit_judging` finds the option nearest to the judge's copy.
            for letter, text in options.items():
                if text == answer:
                    return Reading(None, letter, "an option")
            return unread_reading(protocol, "left to the judge", is_open=bool(answer))
        # The only authors' code that reads letters is MMMU's.
        reader: LetterReader = "mmmu" if protocol == "authors" else self.read
        letter = READERS[reader](answer, options)
        return Reading(None, letter, reader) if letter else unread_reading(protocol, "no letter")

    def _final_text(self, answer: str) -> str:
        """The text after `final_line`, or the capital in it if there is just one; without such a line, the answer."""
        if self.final_line is None:
            return answer
        lines = [line.strip() for line in answer.strip().split("\n")]
        final_lines = [line for line in lines if line.startswith(self.final_line)]
        if not final_lines:
            return answer
        text = final_lines[-1].removeprefix(self.final_line)
        capitals = {character for character in text if character in _CAPITALS}
        return capitals.pop() if len(capitals) == 1 else text

    def _toolkit_judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec
    ) -> Generator[Ask, Reply, Judged]:
        """A judge's letter by VLMEvalKit's rule, or the option nearest to the judge's copy."""
        options = self.options_of(item)
        if protocol == "vlmevalkit":
            question = self._choice_question(item)
            ask = letter_request(question, answer, is_strict=False, spec=spec)
        else:
            ask = judge_request(
                PROMPT,
                answer,
                is_strict=True,
                schema=None,
                question=item.question,
                form=_COPIED_FORM,
            )

        def letter_in(text: str, finish: str) -> str | None:
            if protocol == "vlmevalkit":
                return (
                    read_reply(text, options, finish) or vlmevalkit_decision(text, options).letter
                )
            copied = copied_answer(text, finish)
            return None if copied is None else nearest_letter(copied, options)

        reply = yield from ask_until_read(ask, letter_in)
        if reply.read:
            is_right = reply.read == self._toolkit_truth(item, protocol)
            reading = Reading(float(is_right), reply.read, str(Rule.JUDGE))
        else:
            reading = unread_reading(protocol, str(Rule.UNREAD))
        return Judged(self._unscored_without_truth(item, reading), reply.replies, reply.model)
