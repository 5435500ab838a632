"""Wrong arguments of the command line: a message, exit code 1 or 2, and no file is changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenes_cli import USAGE, main


@pytest.mark.parametrize("text", ("", "all", "1-", "1..8", "1e3", "1-8:-1", "1-8-9", "9" * 5000))
def test_frames_that_cannot_be_read(tmp_path: Path, nothing_changes: dict[str, str], text: str, capsys) -> None:
    code = main("bake", tmp_path / "a.blend", "--object", "Tube", f"--frames={text}", "--output", tmp_path / "a.pc2")
    assert code == USAGE
    assert capsys.readouterr().err.splitlines()[-1].startswith("supple: error: ")
