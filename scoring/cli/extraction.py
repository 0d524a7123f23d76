"""Commands `extraction ...`: draw answers that rules leave open, and compare extractors of letters with people."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from arena.cli.output_paths import output_file, refuse_overwriting
from arena.interval_text import BRACKETS
from arena.io.strict_json import RowsError
from arena.sheets import as_csv
from arena.templates import plural
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.cli.progress import sheet_lines
from scoring.people.open_answers import DRAWN, draw_open, open_answers
from scoring.people.reading_files import align_files, drawn_csv, read_extracted_files, read_readings
from scoring.people.reading_sheets import alignment_sheet, differing_sheet
from scoring.people.readings import align_people
from scoring.registry import open_upload

app = Typer(rich_markup_mode=None)
extraction = Typer(help="measure how often letters are read as people read them")
app.add_typer(extraction, name="extraction")


@extraction.command("draw")
def draw(
    file: Annotated[Path, Argument(help="the model's multiple-choice answers, as for `score`")],
    out: Annotated[
        Path,
        Option(
            metavar="FILE",
            callback=output_file,
            help="a CSV of the drawn answers; fill in its column option",
        ),
    ],
    n: Annotated[
        int, Option(min=1, max=12_000, help="at most this many answers; MMBench's people read 376")
    ] = DRAWN,
    seed: Annotated[int, Option(help="the same seed draws the same questions for every model")] = 0,
    protocol: Annotated[
        str,
        Option(
            metavar="NAME",
            help="the protocol whose rules leave answers open; by default the benchmark's",
        ),
    ] = "",
) -> Iterator[str]:
    """Draw answers that rules leave open, without the extractor's choice and the right answer."""
    if out.exists():
        raise RowsError(
            "This file exists, and may have people's readings. Choose another --out.", out.name
        )
    opened = open_upload(file)
    report = None
    if opened is not None:
        report = opened.report(opened.benchmark.protocol_named(protocol or None))
    if not isinstance(report, ChoiceReport):
        raise RowsError(
            "These aren't multiple-choice outputs. Choose a file with options beside each answer.",
            file.name,
        )
    answers = open_answers(report)
    drawn = draw_open(answers, n, seed)
    out.write_text(drawn_csv(drawn), "utf-8")
    counts = f"{len(answers):,} of {len(report.rows):,} answers"
    yield f"{report.protocol} leaves {counts} open; {len(drawn):,} are drawn: {out}"
    yield "For its column option: the letter of the option that the answer means, or none"


@extraction.command("align")
def align(
    readings: Annotated[
        Path,
        Argument(
            help="people's choices: item, answer_sha256, option, and optionally reader, round"
        ),
    ],
    files: Annotated[
        list[Path],
        Argument(
            metavar="AUDIT...",
            help="-audit.jsonl files of multiple-choice reports, of any models and judges",
        ),
    ],
    out: Annotated[
        Path | None,
        Option(metavar="FILE", callback=output_file, help="also write the differences as CSV"),
    ] = None,
) -> Iterator[str]:
    """Print how often an extractor chooses what people choose, and how the others differ."""
    if out:
        refuse_overwriting([out], readings, *files)
    extracted = read_extracted_files(files)
    answers = {answer for audit in extracted for answer in audit.options}
    # Audits don't have the letters of the options: those in the file of readings count.
    reading_file = read_readings(readings, dict.fromkeys(answers, ()))
    yield from (f"{readings.name}: {problem}" for problem in reading_file.problems)
    if not reading_file.readings:
        raise RowsError(
            "It has no usable readings. Write a letter or none in the column option.",
            readings.name,
        )
    reader_count = len({reading.reader for reading in reading_file.readings})
    answer_count = len({reading.answer for reading in reading_file.readings})
    yield f"{plural(reader_count, 'person')} read {plural(answer_count, 'answer')}"
    yield BRACKETS
    alignments = [
        *align_files(extracted, reading_file.readings),
        *align_people(reading_file.readings),
    ]
    yield from sheet_lines([alignment_sheet(alignments)])
    if out:
        differences = differing_sheet(extracted, reading_file.readings)
        out.write_text(as_csv(differences), "utf-8")
        yield f"{plural(len(differences.frame), 'difference')}: {out}"
