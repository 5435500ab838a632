"""What benchmarks print."""

from __future__ import annotations


def print_table(header: tuple[str, ...], rows: list[tuple], digits: int = 3) -> None:
    """A Markdown table; numbers with so many digits."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        cells = (
            "-" if cell != cell else f"{cell:.{digits}g}" if isinstance(cell, float) else str(cell) for cell in row
        )
        print("| " + " | ".join(cells) + " |", flush=True)
