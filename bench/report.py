"""The figures as Markdown tables, readable as they are printed."""

from collections.abc import Mapping, Sequence

from bench.commits import CommitCost
from bench.usage import percentile

# What issue 3 asks of a broker, and how it is judged; the rest of the figures stands for itself.
TARGETS = {
    "start to ready, s": "< 1",
    "idle RSS, MB": "< 120",
    "MB produced per CPU-s": "≥ 800",
    "MB fetched per CPU-s, tail": "≥ 1,200",
    "MB fetched per CPU-s, warm": "≥ 1,200",
    "1 KiB requests per CPU-s": "≥ 7,000",
    "produce, ms p50": "< 3",
    "produce, ms p99": "< 15",
    "end to end, ms p50": "< 3",
    "end to end, ms p99": "< 15",
    "peak RSS producing, MB": "< 250",
    "peak RSS fetching, MB": "< 250",
}


def number(value: float | None) -> str:
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.01 else f"{value:.4f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [_line(header, widths), "| " + " | ".join(["-" * width for width in widths]) + " |"]
    return "\n".join(lines + [_line(row, widths) for row in rows])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return "| " + " | ".join([first, *rest]) + " |"


def figures_table(columns: Mapping[str, Mapping[str, float]], *, ratio: bool) -> str:
    """One row a figure, in the order in which they were first measured; the ratio is of the first two columns."""
    names = dict.fromkeys([name for figures in columns.values() for name in figures])
    titles = list(columns)
    with_ratio = ratio and len(titles) > 1
    header = ["figure", *titles, *(["ratio to Kafka"] if with_ratio else []), *(["asked for"] if ratio else [])]
    rows = []
    for name in names:
        values = [columns[title].get(name) for title in titles]
        row = [name, *[number(value) for value in values]]
        if with_ratio:
            row.append(_ratio(values[0], values[1]))
        if ratio:
            row.append(TARGETS.get(name, ""))
        rows.append(row)
    return table(header, rows)


def _ratio(ours: float | None, theirs: float | None) -> str:
    return "–" if ours is None or not theirs else f"{ours / theirs:.2f}"


def commits_table(costs: Sequence[CommitCost], syncs: Sequence[float]) -> str:
    rows = []
    for cost in costs:
        if cost.batches == 1:
            least = cost
        further = cost.us_per_further_unit(least)
        rows.append(
            [
                f"{cost.table_rows:,}",
                f"{cost.batches:,}",
                f"{cost.partitions:,}",
                f"{cost.wall_ms:.2f}",
                f"{cost.cpu_us:,.0f}",
                f"{cost.us_per_unit:.1f}",
                "–" if further is None else f"{further:.1f}",
            ]
        )
    header = [
        "rows before",
        "batches",
        "partitions",
        "wall ms",
        "CPU µs",
        "µs per row + partition",
        "for each further one",
    ]
    beside = f"fdatasync of the same run: p50 {percentile(syncs, 0.5):.2f} ms, p99 {percentile(syncs, 0.99):.2f} ms."
    return table(header, rows) + f"\n\n{beside}"
