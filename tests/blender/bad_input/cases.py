"""What the tables share: what a refusal looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scenes_cli import FAILED, main, own_errors, own_output


def assert_refused(argv: list[str | Path], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that is refused: exit code 1, one sentence, no traceback. The sentence."""
    capsys.readouterr()
    code = main(*argv)
    captured = capsys.readouterr()
    assert code == FAILED, captured.err
    assert "Traceback" not in captured.err
    assert own_output(captured.out) == []
    *before, line = own_errors(captured.err)
    assert line.startswith("supple: error: ")
    assert line.isprintable()
    assert len(line) > len("supple: error: ") + 10
    assert all(one.startswith("Progress: ") for one in before)
    return line


def name_of(value: Any) -> str:
    """A short, printable name of a case."""
    text = ascii(value)[1:-1]
    return text if len(text) < 40 else f"{text[:30]}... ({len(text)})"
