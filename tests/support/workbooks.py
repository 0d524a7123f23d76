"""XLSX workbooks of given rows."""

import io

import openpyxl


def workbook(*rows: list, more: dict[str, list] | None = None) -> bytes:
    """Write a workbook with openpyxl: the rows on the first sheet, and further sheets by name."""
    store = openpyxl.Workbook()
    for row in rows:
        store.active.append(row)
    for title, cells in (more or {}).items():
        store.create_sheet(title).append(cells)
    written = io.BytesIO()
    store.save(written)
    return written.getvalue()
