"""Tables of what is remembered of objects: what empties them, and what they keep."""

from collections.abc import Iterator

import bpy
import pytest

from scenes import add_tube, update
from supple.bridge import per_object
from supple.bridge.per_object import PerObject


@pytest.fixture
def tables() -> Iterator[tuple[PerObject[str], PerObject[str]]]:
    """One that survives undo, and one that does not."""
    made = PerObject[str](), PerObject[str](survives_undo=False)
    yield made
    for table in made:
        table.clear()


def test_what_is_kept_is_found_until_it_is_forgotten(tables: tuple[PerObject[str], PerObject[str]]):
    table, (obj, armature) = tables[0], add_tube()
    assert table.find(obj) is None
    assert table.keep(obj, "kept") == table.find(obj) == "kept"
    table.keep(armature, "too")
    table.keep_only([armature])
    assert (table.find(obj), table.find(armature)) == (None, "too")
    table.forget(armature)
    table.forget(armature)
    assert table == {}


def test_tables_are_emptied_with_the_file_and_those_that_undo_makes_untrue_by_undo(
    tables: tuple[PerObject[str], PerObject[str]],
):
    obj = add_tube()[0]
    for table in tables:
        table.keep(obj, "kept")
    per_object.forget_undone()
    assert [table.find(obj) for table in tables] == ["kept", None]
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert tables == ({}, {})


@pytest.mark.versions
def test_what_the_file_no_longer_has_is_dropped(tables: tuple[PerObject[str], PerObject[str]]):
    table, (obj, armature) = tables[0], add_tube()
    mesh, action = obj.data, bpy.data.actions.new("Kept")
    for data in (armature, obj, mesh, action):
        table.keep(data, data.name)
    bpy.data.objects.remove(obj)
    update()
    assert set(table.values()) == {armature.name, mesh.name, action.name}
