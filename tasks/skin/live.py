"""The skin as a feature: bound objects follow weights, bones and poses, until the user unbinds them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress

import bpy

from ...bridge import changes as reported
from ...bridge.changes import OBJECTS, Changes, Update
from ...bridge.files.render_frames import print_line
from ...bridge.meshes.data import read_key_values, read_object_ids
from ...bridge.per_object import PerObject, forget_missing
from ...bridge.rigs.carriers import hide_again
from ...deformers import SkinningError, UnsupportedError
from ...settings.objects import needs_supple, settings_of
from ..installed.feature import Feature
from ..left_out import describe_left_out
from ..patterns import write as patterns
from ..reports import describe_failure
from ..subject.stack import check_not_copied, find_bound_objects, hand_over, pass_on, take_over
from ..subject.surfaces import find_left_behind, reading_meshes_once
from . import by_python, overrides
from .bind import count_changes, follow_settings, unbind
from .changes import leave_out_same
from .evaluators import EVALUATORS, find_evaluator
from .former import hide_groups, migrate
from .hidden import list_hidden, own_hidden, show_returned, unlock_interfaces
from .step import Step, rough

# Seconds between two looks whether the user still drags
BETWEEN_LOOKS = 0.1


class _Watch:
    """Which objects are bound, without a walk over all objects at every frame, and what is still to be followed."""

    def __init__(self) -> None:
        self.indices: list[int] = []
        """Of the bound objects among all objects of the file."""
        self.known: tuple[bytes, int] | None = None
        """All objects of the file in their order, and the count of changes, when these were found."""
        self.put_off: set[int] = set()
        """`session_uid` of meshes whose changes are still to be followed."""
        self.put_off_at = 0.0
        """When the latest of them was put off, in seconds of `time.monotonic`."""
        self.key_values: PerObject[tuple[float, ...]] = PerObject()
        """Values of the shape keys of each mesh when it last changed."""
        self.given_up: set[int] = set()
        """`session_uid` of objects that Supple has failed on: their Armature modifiers deform them."""
        self.copied: set[int] = set()
        """`session_uid` of objects that were told to have Supple's modifiers of others."""
        self.hidden: set[int] = set()
        """What `list_hidden` gave before undo."""
        self.idle_since: int | None = None
        """The count of changes since which no bound object needs anything for another pose; None if one may."""


_watch = _Watch()


def bound_objects() -> list[bpy.types.Object]:
    """Bound objects that can be changed; looked for anew when objects were added, removed, renamed or bound."""
    if (read_object_ids(), count_changes()) == _watch.known:
        objects = (bpy.data.objects[index] for index in _watch.indices)
        found = [obj for obj in objects if settings_of(obj).is_bound]
        if len(found) == len(_watch.indices):
            return found
    found, taken = find_bound_objects(), set()
    _watch.given_up.clear()
    _watch.idle_since = None
    forget_missing()
    by_python.keep_only(found)
    for obj in found:
        _attempt(obj, lambda obj=obj: _adopt(obj, taken))  # an earlier message stays until the next step
    found = [obj for obj in found if settings_of(obj).is_bound]  # an earlier version has bound the others
    for obj in find_left_behind(found):
        by_python.forget(obj)
    hide_again()
    unlock_interfaces()
    _watch.indices = [index for index, obj in enumerate(bpy.data.objects) if obj in found]
    _watch.known = read_object_ids(), count_changes()
    return found


def look_again() -> None:
    """Forget which objects are bound."""
    _watch.known = _watch.idle_since = None


def _adopt(obj: bpy.types.Object, taken: set) -> None:
    """Take an object in that was bound, opened, appended or duplicated."""
    migrate(obj)
    if not settings_of(obj).is_bound:
        return
    overrides.mend(obj)
    take_over(obj)
    own_hidden(obj, taken)


def _attempt(obj: bpy.types.Object, step: Callable[[], object]) -> object:
    """Run a step for an object: what it returns; False if something is wrong, which the panel shows.

    After an exception that no user can have meant, others go on without this one.
    """
    try:
        return step()
    except SkinningError as error:
        is_given_up, message = isinstance(error, UnsupportedError), str(error)
    except Exception as error:  # noqa: BLE001  one object's fault must not stop the others
        is_given_up = True
        message = (
            f"Supple failed on '{obj.name}' ({describe_failure(error)}): its Armature modifier deforms it until you "
            "bind it again"
        )
    if is_given_up:
        _watch.given_up.add(obj.session_uid)
        with suppress(Exception):  # it is what failed, perhaps
            pass_on(obj)
    _show(obj, message)
    return False


def _report(obj: bpy.types.Object, step: Callable[[], object]) -> None:
    """Bring an object up to date; the panel shows what is wrong, and the object is left as it is."""
    if _attempt(obj, step) is not False:
        _show(obj, "")


def _show(obj: bpy.types.Object, message: str) -> None:
    """Show a message in the panel, and in the terminal, where a farm looks for it."""
    if settings_of(obj).message == message:
        return
    settings_of(obj).message = message
    if message:
        _watch.idle_since = None
        print_line(f"Supple: {message}", sys.stderr)


def follow(changes: Changes) -> None:
    """Follow changes of weights and bones, then the pose.

    Another frame by itself changes nothing that Blender's own modifiers need, nor does a user who drags bones.
    """
    changed = changes.data
    if changes.is_motion and not changed and _watch.idle_since == count_changes():
        return
    _watch.idle_since = None
    if not changes.is_render:
        if not changes.is_frame:
            _tell_copied(changes.updates)
        changed = _put_off(changed, changes.depsgraph)
    bound = bound_objects()
    if changes.is_motion and not changed:
        bound = [obj for obj in bound if not _is_up_to_date(obj)]
        if not bound:
            _watch.idle_since = count_changes()
            return
    with reading_meshes_once():
        changed = leave_out_same(changed, bound)
        step = Step(changes.depsgraph, changed, changes.is_motion and not changed, changes.is_dragging)
        for obj in bound:
            if obj.session_uid in _watch.given_up:
                continue
            _report(obj, lambda obj=obj: find_evaluator(obj).follow(obj, step))
            if _is_rough(obj) and not bpy.app.timers.is_registered(refine_dragged):
                bpy.app.timers.register(refine_dragged, first_interval=BETWEEN_LOOKS)


def _is_up_to_date(obj: bpy.types.Object) -> bool:
    """Whether a bound object needs nothing for another pose by itself, and shows no message that may be out of date."""
    settings = settings_of(obj)
    is_known = settings.evaluate in EVALUATORS and not needs_supple(settings)
    return is_known and not settings.message and not _is_rough(obj)


def _tell_copied(updates: list[Update]) -> None:
    """Say of objects that are not bound that they have got Supple's modifiers from others, until they have not."""
    changed = [data.original for data, update in updates if isinstance(data, OBJECTS) and update.is_updated_geometry]
    for obj in changed:
        if obj.type != "MESH" or obj.library is not None:
            continue
        if _attempt(obj, lambda obj=obj: check_not_copied(obj)) is False:
            _watch.copied.add(obj.session_uid)
        elif obj.session_uid in _watch.copied:
            _watch.copied.discard(obj.session_uid)
            _show(obj, "")


def _put_off(changed: set[bpy.types.ID], depsgraph: bpy.types.Depsgraph) -> set[bpy.types.ID]:
    """Leave meshes out of the changes, and follow them later, while the user drags patterns or sliders of shape keys.

    Each step changes the mesh, and to read its weights anew takes longer than the step. Blender reports the slider of a
    key as it reports other weights, or both at once: that they are the same is seen by reading them.
    """
    meshes, is_changing = [data for data in changed if isinstance(data, bpy.types.Mesh)], patterns.is_changing()
    put_off = {mesh for mesh in meshes if _has_moved_slider(mesh, depsgraph) or is_changing}
    if not (put_off and _has_timers()):
        return changed
    _watch.put_off |= {mesh.session_uid for mesh in put_off}
    _watch.put_off_at = time.monotonic()
    if not bpy.app.timers.is_registered(come_back):
        bpy.app.timers.register(come_back, first_interval=patterns.SETTLED)
    return changed - put_off


def _has_timers() -> bool:
    """Whether Blender calls timers: with a window it does."""
    return not bpy.app.background


def _has_moved_slider(mesh: bpy.types.Mesh, depsgraph: bpy.types.Depsgraph) -> bool:
    """Whether values of a mesh's shape keys have changed since it last changed."""
    values = read_key_values(mesh, depsgraph)
    before = _watch.key_values.find(mesh)
    _watch.key_values.keep(mesh, values)
    return before not in (None, values)


def come_back() -> float | None:
    """Follow changes of meshes that were put off, once the user has let go. A timer."""
    if patterns.is_changing() or time.monotonic() - _watch.put_off_at < patterns.SETTLED:
        return patterns.SETTLED
    for mesh in bpy.data.meshes:
        if mesh.session_uid in _watch.put_off:
            mesh.update_tag()
    _watch.put_off.clear()
    return None


def take_up() -> None:
    """Have Supple deform bound objects as they are now, once it was enabled. A timer, too."""
    for obj in bound_objects():
        obj.update_tag()


def _is_rough(obj: bpy.types.Object) -> bool:
    """Whether an object is to be shown better once the user has let go."""
    return rough.find(obj) is not None


def refine_dragged() -> float | None:
    """Have objects shown in full quality once the user has let go. A timer: returns when to look again, if at all."""
    if reported.is_dragging():
        return BETWEEN_LOOKS
    for obj in filter(_is_rough, bound_objects()):
        obj.update_tag()
    return None


TIMERS = (refine_dragged, come_back, take_up)


def finish_strokes() -> None:
    """Bring up to date at once what would be once the user has let go, before it is rendered or saved."""
    for obj in filter(_is_rough, bound_objects()):
        step = Step(bpy.context.evaluated_depsgraph_get())
        _report(obj, lambda obj=obj, step=step: find_evaluator(obj).follow(obj, step))


def follow_setting(obj: bpy.types.Object) -> None:
    """Follow a setting of an object at once, if it needs other modifiers."""
    if settings_of(obj).is_bound:
        if obj.session_uid in _watch.given_up:
            look_again()
        _report(obj, lambda: follow_settings(obj))


def take_in_file() -> None:
    """Take in all bound objects of a file that was opened."""
    look_again()
    hide_groups()
    overrides.tidy_up()
    carriers = [(obj, settings_of(obj).carrier) for obj in find_bound_objects()]
    bound_objects()
    for obj, carrier in carriers:
        if settings_of(obj).carrier != carrier:  # made anew, at rest; without a window, no handler is called yet
            step = Step(bpy.context.evaluated_depsgraph_get())
            _report(obj, lambda obj=obj, step=step: find_evaluator(obj).bring_to_pose(obj, step))
    if not (bpy.app.background or bpy.app.timers.is_registered(take_up)):
        # the file may have been painted without Supple; Blender shows it without calling a handler, and clears tags
        bpy.app.timers.register(take_up, first_interval=0.0, persistent=True)


def expect_undo() -> None:
    """Note which hidden objects there are before undo."""
    _watch.hidden = list_hidden()


def follow_undo() -> None:
    """Compare everything that undo may have changed in the next step."""
    by_python.expect_undo()
    look_again()
    show_returned(_watch.hidden)


def hand_over_all() -> None:
    """Let Armature modifiers deform bound objects in the file that is saved now."""
    finish_strokes()
    for obj in find_bound_objects():
        _attempt(obj, lambda obj=obj: hand_over(obj))
    overrides.store_settings()


def take_over_all() -> None:
    """Have Supple deform bound objects again."""
    for obj in find_bound_objects():
        if obj.session_uid not in _watch.given_up:
            _attempt(obj, lambda obj=obj: take_over(obj))


SKIN = Feature(
    key="skin",
    remove=lambda subject, names: list(describe_left_out(unbind(subject.choose(names)))),
    is_in=lambda subject: any(settings_of(obj).is_bound for obj in subject.meshes),
    follow=follow,
)
