"""Plain columns, as wide as they must be."""

from collections.abc import Sequence


def format_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Lines with the titles first; numbers are aligned to the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(titles, *texts, strict=True)]
    numeric = [bool(rows) and all(isinstance(row[place], int) for row in rows) for place in range(len(titles))]
    return [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in (titles, *texts)
    ]
