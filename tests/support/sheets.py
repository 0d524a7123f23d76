"""What the cells of a sheet say."""

from arena.sheets import Sheet, cell_of


def texts(sheet: Sheet) -> list[list[str]]:
    return [[cell_of(column, row).text for column in sheet.columns] for row in sheet.rows]


def heads(sheet: Sheet) -> list[str]:
    return [column.head for column in sheet.columns]
