"""What is printed while a command runs, by a process of its own: it stays on standard error, line by line."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "bridge" / "files"
PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[1])
import render_frames
with render_frames.guarded_output() as (out, err):
    os.write(1, "first\\n腕\\x1b[31m\\nSaved: 'x'".encode())
    render_frames.print_line("own\\nline", out)
    END
print("after")
"""
FOREIGN = ["Blender: first", "Blender: 腕\\x1b[31m", "Blender: Saved\\u003a 'x'"]


@pytest.mark.parametrize(
    ("end", "code", "printed"), [("pass", 0, ["own\\nline", "after"]), ("os._exit(3)", 3, ["own\\nline"])]
)
def test_what_others_print_is_told_also_after_a_crash(end: str, code: int, printed: list[str]) -> None:
    answer = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", PROGRAM.replace("END", end), FOLDER],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (answer.returncode, answer.stdout.splitlines(), answer.stderr.splitlines()) == (code, printed, FOREIGN)
