"""Edit distance: the number of characters to insert, delete or replace between two texts."""

from os.path import commonprefix


def edit_distance(first: str, second: str) -> int:
    """The Levenshtein distance, by Myers' bit vectors (1999): the shorter text is one column of bits.

    The work grows with the product of the lengths, in units of machine words; common beginnings and ends cost nothing.
    """
    start = len(commonprefix((first, second)))
    # The rests stay reversed: their distance is the same.
    reversed_rests = [text[start:][::-1] for text in (first, second)]
    end = len(commonprefix(reversed_rests))
    column, row = sorted((text[end:] for text in reversed_rests), key=len)
    if not column:
        return len(row)
    places: dict[str, int] = {}
    for place, sign in enumerate(column):
        places[sign] = places.get(sign, 0) | (1 << place)
    all_bits = (1 << len(column)) - 1
    last_bit = 1 << (len(column) - 1)
    # In the table of distances, a cell differs from the one above it, and from the one at its left, by at most 1. A bit
    # of `rises` says that the cell of this column is 1 more than the one above it, a bit of `falls` that it is 1 less.
    rises = all_bits
    falls = 0
    distance = len(column)
    for sign in row:
        same = places.get(sign, 0)
        vertical = same | falls
        horizontal = (((same & rises) + rises) ^ rises) | same
        # In the same way, the bits of these two compare the next column's cells with this column's.
        right_rises = falls | (~(horizontal | rises) & all_bits)
        right_falls = rises & horizontal
        distance += bool(right_rises & last_bit) - bool(right_falls & last_bit)
        right_rises = (right_rises << 1) | 1  # the row above the table rises by 1 per column
        right_falls = right_falls << 1
        rises = (right_falls | ~(vertical | right_rises)) & all_bits
        falls = right_rises & vertical & all_bits
    return distance
