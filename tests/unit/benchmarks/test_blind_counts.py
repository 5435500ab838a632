"""Counts of blind rankings against numbers worked out by hand, and the poses that the sheets have."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.blind_counts import (
    CLASS_ORDER,
    CLASSES,
    count_all,
    list_agreed,
    list_behind,
    measure_agreement,
    name_columns,
    read_ranking,
)
from benchmarks.blind_key import METHODS, deal_sheets
from benchmarks.blind_poses import CHARACTERS, KINDS, list_poses, make_pose, name_pose
from benchmarks.shapes import Shape

from ..cases import each

RANKINGS = Path(__file__).resolve().parents[3] / "benchmarks" / "rankings"

KEY = {
    "001": {
        "character": "fox",
        "joint": "back knee",
        "pose": "back knee 70",
        "methods": ["FLESH", "SSD", "PRESERVE_VOLUME"],
    },
    "002": {
        "character": "fox",
        "joint": "tail up",
        "pose": "tail up 50",
        "methods": ["SSD", "FLESH", "PRESERVE_VOLUME"],
    },
}
FIRST = {"001": ["A", ["B", "C"]], "002": [["A", "B"], "C"]}
SECOND = {"001": {"ranks": ["C", "A", "B"], "needs": ["A", "B"]}, "002": {"ranks": [["C", "B", "A"]], "needs": []}}


def count(ranking: dict) -> dict[tuple[str, str], dict[str, str]]:
    """The table of a ranking, by class of joint and method."""
    columns = name_columns(KEY)
    rows = [dict(zip(columns, row, strict=True)) for row in count_all(KEY, [read_ranking(KEY, ranking)])]
    return {(row["joints"], row["method"]): row for row in rows}


def test_what_all_counts_agree_on():
    first, second = ((KEY, [read_ranking(KEY, ranking)]) for ranking in (FIRST, SECOND))
    assert list(list_agreed([first, first], "FLESH")) == [
        ("SSD", 1, 0, 2, "100%"),
        ("PRESERVE_VOLUME", 2, 0, 2, "100%"),
    ]
    assert list(list_agreed([first, second], "FLESH")) == [("SSD", 1, 0, 2, "100%"), ("PRESERVE_VOLUME", 0, 0, 2, "-")]


def test_ties_share_their_places():
    judged = read_ranking(KEY, FIRST)
    assert judged["001"].places == {"FLESH": 1.0, "SSD": 2.5, "PRESERVE_VOLUME": 2.5}
    assert judged["002"].places == {"SSD": 1.5, "FLESH": 1.5, "PRESERVE_VOLUME": 3.0}
    assert judged["001"].needs is None


def test_what_looks_alike_is_tied():
    key = KEY | {"001": KEY["001"] | {"alike": [["FLESH", "SSD"]]}}
    assert read_ranking(key, FIRST)["001"].places == {"FLESH": 1.75, "SSD": 1.75, "PRESERVE_VOLUME": 2.5}
    assert read_ranking(key, SECOND)["001"].prefer_to_both("FLESH") == 0.0


@each(
    ("ranks", "counted"),
    [
        (["A", "B", "C"], 1.0),
        (["A", ["B", "C"]], 1.0),
        ([["A", "B"], "C"], 0.5),
        ([["A", "B", "C"]], 0.5),
        (["B", "A", "C"], 0.0),
        (["B", ["A", "C"]], 0.0),
        (["B", "C", "A"], 0.0),
    ],
)
def test_preferred_to_both_is_the_worse_comparison(ranks: list, counted: float):
    key = {"001": KEY["001"]}
    assert read_ranking(key, {"001": ranks})["001"].prefer_to_both("FLESH") == counted


def test_table_counts_all_sheets_and_each_class():
    rows = count(FIRST)
    assert {joints for joints, _ in rows} == {"all", "hinges", "spine, tail"}
    flesh = rows["all", "FLESH"]
    assert (flesh["sheets"], flesh["mean place"]) == (2, "1.25")
    assert (flesh["preferred to SSD"], flesh["preferred to PRESERVE_VOLUME"], flesh["preferred to both"]) == (
        "75%",
        "100%",
        "75%",
    )
    assert (flesh["not worse than both of Blender's"], flesh["last"], flesh["needs a corrective"]) == (
        "100%",
        "0%",
        "-",
    )
    assert rows["hinges", "FLESH"]["preferred to both"] == "100%"
    assert rows["spine, tail", "FLESH"]["preferred to both"] == "50%"
    assert rows["all", "SSD"]["preferred to both"] == "-"


def test_tied_methods_share_the_last_place():
    rows = count(FIRST)
    assert rows["all", "PRESERVE_VOLUME"]["last"] == "75%"
    assert rows["all", "SSD"]["last"] == "25%"
    assert count(SECOND)["spine, tail", "SSD"]["last"] == "33%"


def test_correctives_are_counted_where_they_are_told():
    rows = count(SECOND)
    assert rows["all", "FLESH"]["needs a corrective"] == "50%"
    assert rows["hinges", "SSD"]["needs a corrective"] == "100%"
    assert rows["all", "PRESERVE_VOLUME"]["needs a corrective"] == "0%"
    mixed = count({"001": SECOND["001"], "002": FIRST["002"]})
    assert mixed["all", "FLESH"]["needs a corrective"] == "100%"
    assert mixed["spine, tail", "FLESH"]["needs a corrective"] == "-"


def test_list_names_the_poses_behind_blenders_best():
    first, second = (read_ranking(KEY, ranking) for ranking in (FIRST, SECOND))
    assert list_behind(KEY, [first], "FLESH") == []
    assert list_behind(KEY, [second], "FLESH") == [("001", "fox", "back knee 70", 2.0, 3.0, 1.0, "1 of 1")]
    assert list_behind(KEY, [first, second, second], "FLESH") == [
        ("001", "fox", "back knee 70", pytest.approx(5 / 3), pytest.approx(17 / 6), pytest.approx(1.5), "2 of 3")
    ]


def test_agreement_is_of_pairs_that_both_tell_apart():
    first, second = (read_ranking(KEY, ranking) for ranking in (FIRST, SECOND))
    assert measure_agreement(KEY, first, first) == 1.0
    assert measure_agreement(KEY, first, second) == 0.5
    assert np.isnan(measure_agreement({"002": KEY["002"]}, first, second))


@each("entry", [[], ["A", "B"], ["A", "B", "B"], ["A", "B", "C", "D"], {"ranks": ["A", ["B", "C"]], "needs": ["D"]}])
def test_wrong_letters_are_refused(entry: list | dict):
    with pytest.raises(ValueError, match="Sheet 001"):
        read_ranking({"001": KEY["001"]}, {"001": entry})


def test_stored_rankings_are_read():
    for folder in filter(Path.is_dir, RANKINGS.iterdir()):
        key = json.loads((folder / "key.json").read_text(encoding="utf-8"))
        ranked = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("ranks-*.json")]
        assert ranked
        assert list(count_all(key, [read_ranking(key, ranking) for ranking in ranked]))


def test_sheets_depend_on_the_seed_alone():
    sheets = deal_sheets(1)
    assert sheets == deal_sheets(1)
    assert len({sheet.number for sheet in sheets}) == len(sheets)
    assert all(sorted(sheet.methods) == sorted(METHODS) for sheet in sheets)
    assert len({sheet.methods for sheet in sheets}) > 20
    assert sum(a.methods == b.methods for a, b in zip(sheets, deal_sheets(2), strict=True)) < 10
    some = [(sheet.number, [method for method in sheet.methods if method != "PARTICLES"]) for sheet in sheets]
    fewer = deal_sheets(1, [method for method in METHODS if method != "PARTICLES"])
    assert [(sheet.number, list(sheet.methods)) for sheet in fewer] == some


def test_sheets_have_enough_poses_of_each_class():
    poses = list(list_poses())
    counts = {joints: sum(CLASSES[kind] == joints for _, kind, _ in poses) for joints in CLASS_ORDER}
    assert len({(character, name_pose(kind, degrees)) for character, kind, degrees in poses}) == len(poses) >= 44
    assert min(counts.values()) >= 10
    assert len(CHARACTERS) >= 6
    assert {kind for _, kind, _ in poses} == set(KINDS)


def make_arm() -> Shape:
    """A body that looks to -y: an upper arm to its left, a forearm in line with it, and a hand."""
    heads, tails = np.eye(3)[[0] * 3] * [[1.0], [2.0], [3.0]], np.eye(3)[[0] * 3] * [[2.0], [3.0], [4.0]]
    names = ("upperarm_l", "lowerarm_l", "hand_l")
    return Shape(np.eye(3), np.empty((0, 3), int), np.empty((3, 3)), heads, tails, np.array([-1, 0, 1]), names)


def test_combined_poses_move_joints_from_the_root_on():
    hand = np.array([4.0, 0.0, 0.0, 1.0])
    pose = make_pose("human_male", make_arm(), "elbow", 90.0)
    assert (pose[2] @ hand)[:3] == pytest.approx([2.0, -2.0, 0.0])
    pose = make_pose("human_male", make_arm(), "shoulder and elbow", 90.0 / 1.1)
    shoulder = np.radians(90.0 / 1.1)
    along = np.array([np.cos(shoulder), -np.sin(shoulder), 0.0])
    bent = np.array([-np.sin(shoulder), -np.cos(shoulder), 0.0])
    assert (pose[2] @ hand)[:3] == pytest.approx([1.0, 0.0, 0.0] + along + 2.0 * bent)


def test_twists_keep_the_bone_in_its_line():
    pose = make_pose("human_male", make_arm(), "wrist twist", 90.0)
    assert pose[1] == pytest.approx(np.eye(4))
    assert (pose[2] @ [4.0, 0.0, 0.0, 1.0])[:3] == pytest.approx([4.0, 0.0, 0.0])
    assert np.abs((pose[2] @ [3.0, 1.0, 0.0, 1.0])[:3]) == pytest.approx([3.0, 0.0, 1.0], abs=1e-9)
