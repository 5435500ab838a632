"""Lists of frames: what is written is what is read, and what cannot be read is refused in words."""

import pytest

from supple.deformers import SkinningError
from supple.tasks.subject.frames import LAST_FRAME, cut_frames, describe_frames, parse_frames

from ..cases import each


def listed(text: str) -> list[tuple[int, int, int]]:
    """First frame, last frame and step of each range."""
    return [(frames[0], frames[-1], frames.step) for frames in parse_frames(text)]


@each(
    ("text", "ranges"),
    (
        ("1-250", [(1, 250, 1)]),
        ("1-250:2", [(1, 249, 2)]),
        ("7", [(7, 7, 1)]),
        ("7-7", [(7, 7, 1)]),
        ("-20--11", [(-20, -11, 1)]),
        ("-3-2", [(-3, 2, 1)]),
        ("-7", [(-7, -7, 1)]),
        ("1-50,60,100-200:2", [(1, 50, 1), (60, 60, 1), (100, 200, 2)]),
        ("1-50, 60", [(1, 50, 1), (60, 60, 1)]),
        ("100-200,1-50", [(1, 50, 1), (100, 200, 1)]),
        ("6-9,1-5", [(1, 9, 1)]),
        ("1,2,3", [(1, 3, 1)]),
        ("1-9:2,11-15:2", [(1, 15, 2)]),
        ("1-9:2,10", [(1, 9, 2), (10, 10, 1)]),
        ("1-9:2,2-10:2", [(1, 9, 2), (2, 10, 2)]),
        ("1-9:4,3", [(1, 9, 4), (3, 3, 1)]),
        ("7-7:2,9-11:2", [(7, 11, 2)]),
        ("1-2:1000", [(1, 1, 1000)]),
        (f"-{LAST_FRAME}-{LAST_FRAME}", [(-LAST_FRAME, LAST_FRAME, 1)]),
    ),
)
def test_lists_of_frames(text: str, ranges: list[tuple[int, int, int]]) -> None:
    assert listed(text) == ranges
    assert listed(describe_frames(parse_frames(text))) == ranges


@each("text", ("1-250", "1-249:2", "7", "-20--11", "1-50,60,100-200:2", "7-7:2", "-7"))
def test_a_list_is_written_as_it_was(text: str) -> None:
    assert describe_frames(parse_frames(text)) == text


@each(
    ("text", "message"),
    (
        *((text, f"'{text}' is not a frame range: write 1-250") for text in ("", "one", "1-", "1..8", "1-8-9")),
        *((text, f"'{text}' is not a frame range") for text in ("1:2:3", "٣", "9" * 19, "9" * 5000, "1-8:-1", "1\n")),
        *((f"1-8,{text}", f"'{text}' is not a frame range") for text in ("", "x", "9-")),
        ("8-1", "Frame range 8 to 1 runs backwards"),
        ("1-8:0", "Frame step is 0: choose 1 or more"),
        ("0-1048575", "outside Blender's range"),
        ("1-2:1048575", "Frame step is 1048575"),
        ("1-50,50-60", "Frame 50 is listed twice: list it once"),
        ("7,7", "Frame 7 is listed twice"),
        ("1-99,100-200:2,120", "Frame 120 is listed twice"),
        ("1-100:3,2-100:5", "Frame 7 is listed twice"),
    ),
)
def test_what_is_no_list_of_frames(text: str, message: str) -> None:
    with pytest.raises(SkinningError) as raised:
        parse_frames(text)
    assert message in str(raised.value)


@each(
    ("text", "size", "chunks"),
    (
        ("1-10", 4, ["1-4", "5-8", "9-10"]),
        ("1-10", 10, ["1-10"]),
        ("1-3", 50, ["1-3"]),
        ("1-7:2", 3, ["1-5:2", "7-7:2"]),
        ("-3-3,10", 5, ["-3-1", "2-3", "10"]),
        ("1-3,10-12", 2, ["1-2", "3", "10-11", "12"]),
    ),
)
def test_chunks_never_span_two_ranges(text: str, size: int, chunks: list[str]) -> None:
    assert [describe_frames([frames]) for frames in cut_frames(parse_frames(text), size)] == chunks


@each("size", (0, -1, LAST_FRAME + 1, 10**29))
def test_a_chunk_holds_frames_that_engines_can_count(size: int) -> None:
    with pytest.raises(SkinningError, match=f"Chunks of {size} frames"):
        cut_frames(parse_frames("1-10"), size)


def test_many_frames_are_read_at_once() -> None:
    text = ",".join(map(str, range(1, 40000, 2)))
    assert len(parse_frames(text)) == 20000
