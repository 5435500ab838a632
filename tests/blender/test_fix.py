"""Faults that a tool mends: tried, checked and written as a whole, or not at all."""

from __future__ import annotations

import bpy
import pytest
from computed_beside import take_beside
from scenes_layers import add_sleeve, spoil, stiffen
from scenes_state import find_changes, read_state

from scenes import reset
from supple.options import CheckOptions
from supple.settings.objects import settings_of
from supple.tasks.check.faults import COLLAPSE, FAR, PIERCED, UNWEIGHTED
from supple.tasks.check.findings import find_faults
from supple.tasks.check.fix import fix_faults
from supple.tasks.check.run import check_character
from supple.tasks.skin.bind import bind_each
from supple.tasks.steps import take_all

OPTIONS = CheckOptions(angle=2.6)


def dress():
    """A tube in a stiff sleeve, both bound, with mistakes in weights."""
    body, sleeve = add_sleeve()
    stiffen(sleeve)
    spoil(body, FAR)
    spoil(body, UNWEIGHTED)
    bind_each([body, sleeve], "SSD")
    bpy.context.scene.frame_set(1)
    return body, sleeve


def find(objects):
    return find_faults(take_all(check_character(objects, OPTIONS)), objects)


def fix(objects, faults):
    return fix_faults(faults, objects, OPTIONS, lambda _fault: True)


def test_it_says_the_same_in_a_window_and_what_stays_is_what_a_fresh_check_finds():
    """Linear blending makes the tube collapse: no tool mends that but another method, which is the user's to choose."""
    found = []
    for take in (take_all, lambda steps: take_beside(steps)[0]):
        reset()
        objects = dress()
        faults = find(objects)
        assert {FAR, UNWEIGHTED, PIERCED, COLLAPSE} <= {fault.kind for fault in faults}
        fixed = take(fix(objects, faults))
        left = {fault.key: fault.value for fault in find(objects)}
        assert {fault.key: fault.value for fault in fixed.faults} == pytest.approx(left)
        assert fixed.reasons.keys() == left.keys()
        kinds = {fault.kind for fault in fixed.faults if fault.mesh == objects[0].name}
        assert COLLAPSE in kinds
        assert not {FAR, UNWEIGHTED} & kinds
        assert {settings_of(obj).method for obj in objects} == {"SSD"}
        found.append((fixed.messages, fixed.reasons, left, read_state()))
    here, there = found
    assert here[:2] == there[:2]
    assert here[2] == pytest.approx(there[2])
    assert find_changes(here[3]) == []


def test_what_fails_before_it_writes_leaves_the_file_as_it_was(subtests):
    objects = dress()
    faults, before = find(objects), read_state()
    for count in (1, 6, 1000):
        with subtests.test(f"after {count} steps"):
            fail_after(fix(objects, faults), count)
            assert find_changes(before) == []


def fail_after(steps, count):
    """Fail once some steps are taken, or all but the last."""
    step = next(steps)
    while count and step != 1.0:
        step, count = steps.send(step(lambda _share: None) if callable(step) else None), count - 1
    with pytest.raises(MemoryError):
        steps.throw(MemoryError())
