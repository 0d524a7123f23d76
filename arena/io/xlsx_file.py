"""XLSX writer: one sheet of texts and numbers, the same bytes for the same cells."""

import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from arena.io.csv_text import CELL_LIMIT

_NOT_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_RELATIONSHIP_START = f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/sheet.xml" ContentType="{_TYPE}.worksheet+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'{_RELATIONSHIP_START}Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
        '<sheets><sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'{_RELATIONSHIP_START}Type="{_OFFICE}/worksheet" Target="sheet.xml"/></Relationships>'
    ),
}
"""Parts of a workbook besides its one sheet."""


def xlsx_bytes(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Returns a workbook of one sheet; texts stay texts, and no cell is a formula."""
    lines = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in [heads, *rows])
    sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>'
    workbook = io.BytesIO()
    with zipfile.ZipFile(workbook, "w") as archive:
        for name, part in {**_PARTS, "xl/sheet.xml": sheet}.items():
            entry = zipfile.ZipInfo(name)  # always dated 1980
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, f'<?xml version="1.0" encoding="UTF-8"?>{part}')
    return workbook.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"<c><v>{value}</v></c>"
    text = escape(_NOT_XML.sub("", str(value))[:CELL_LIMIT])
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
