"""Names that are free, and short enough for Blender to keep them."""

from __future__ import annotations

from collections.abc import Container

# Bytes of a name that Blender keeps
LONGEST = 63


def name_within(base: str, ending: str) -> str:
    """A name that Blender keeps as it is: of a long one, the base is cut, and then the end of the ending."""
    room = max(0, LONGEST - len(ending.encode()))
    return (base.encode()[:room].decode(errors="ignore") + ending).encode()[:LONGEST].decode(errors="ignore")


def free_name(base: str, taken: Container[str]) -> str:
    """A name that is not taken and that Blender keeps: the base, else with the first free number: "Hat.001"."""
    found, number = name_within(base, ""), 0
    while found in taken:
        number += 1
        found = name_within(base, f".{number:03d}")
    return found
