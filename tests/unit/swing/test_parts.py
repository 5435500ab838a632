"""Parts by the names of bones, and chains by their parents."""

from __future__ import annotations

import pytest

from supple.deformers.swing.chains import Spring
from supple.deformers.swing.parts import choose_spring, find_chains, find_part, leave_out_bodies


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Tail_Base", "TAIL"), ("tail.003", "TAIL"), ("DEF-tail2", "TAIL"), ("TailTip", "TAIL"), ("尻尾1", "TAIL"),
        ("Ear_L", "EAR"), ("J_Sec_L_Ear1", "EAR"), ("ear.R.001", "EAR"), ("rear_leg", ""), ("forearm.L", ""),
        ("Bear", ""), ("Stomach", "BELLY"), ("J_Sec_L_Bust1", "BREAST"), ("cheek.T.L", "CHEEK"),
        ("J_Sec_Hair1_01", "HAIR"), ("ponytail.2", "HAIR"), ("前髪", "HAIR"), ("CapeBack", "CLOAK"),
        ("skirt_front", "CLOAK"), ("antenna.L", "ANTENNA"), ("Spine", ""), ("detail", ""),
    ],
)  # fmt: skip
def test_parts_by_name(name, part):
    assert find_part(name) == part


def test_chains_follow_the_longest_branch():
    parents = [-1, 0, 1, 2, 1, 4, 5, 0, 7]
    assert find_chains(parents, {1, 2, 3, 4, 5, 6, 7}) == [[1, 4, 5, 6], [2, 3], [7]]
    assert find_chains(parents, {2, 4}) == [[2], [4]]
    assert find_chains(parents, set()) == []


def test_short_tails_are_faster():
    assert choose_spring("TAIL", 0.4) == Spring(1.2, 0.25)
    assert choose_spring("TAIL", 0.1) == Spring(2.5, 0.25)
    assert choose_spring("HAIR", 0.1) == Spring(1.5, 0.35)


def test_a_spine_with_the_name_of_a_belly_does_not_swing():
    parents, parts = [-1, 0, 1, 2, 1], ["", "BELLY", "", "TAIL", "BELLY"]
    assert leave_out_bodies(parents, parts) == ["", "", "", "TAIL", "BELLY"]
