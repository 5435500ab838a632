"""Names that are free, within what Blender keeps."""

import numpy as np

from supple.bridge.names import LONGEST, free_name, name_within
from supple.tasks.handles.plan import name_cage


def test_a_free_name_is_the_base_or_the_first_number() -> None:
    assert free_name("Hat", {"Cap", "hat"}) == "Hat"
    assert free_name("Hat", {"Hat", "Hat.002"}) == "Hat.001"
    assert free_name("Hat", {"Hat", "Hat.001", "Hat.002"}) == "Hat.003"
    assert free_name("", {""}) == ".001"


def test_long_names_are_cut_between_letters() -> None:
    long = "腕" * 30
    assert len(name_within(long, "_twist_1").encode()) <= LONGEST
    assert name_within(long, "_twist_1") == "腕" * 18 + "_twist_1"
    for length in (50, 63, 70):
        assert len(name_within("Hair", ": " + "a" * length).encode()) == min(length + 6, LONGEST)
    assert name_within("腕", "頭" * 30) == "頭" * 21
    assert free_name("x" * 63, {"x" * 63}) == "x" * 59 + ".001"
    assert free_name("x" * 63, {"x" * 63, "x" * 59 + ".001"}) == "x" * 59 + ".002"


def test_names_of_handles() -> None:
    points = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert name_cage("Hat", points, ["Hat 3", "Hat 1"]) == ("Hat 1.L", "Hat 1.R", "Hat 2")
    assert name_cage("Hat", points, ["Hat 2", "Hat.001 1.R", "Hat.003 2"]) == (
        "Hat.002 1.L",
        "Hat.002 1.R",
        "Hat.002 2",
    )
