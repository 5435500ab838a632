"""The live preview: handlers that keep every bound object up to its armature's pose, in the viewport and in renders."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress

import bpy
from bpy.app.handlers import persistent

from .bridge.animation.correction_drivers import own_properties
from .bridge.changes import OBJECTS, Update, find_changes, list_updates, moves_meshes
from .bridge.files.render_frames import print_line
from .bridge.handlers import install, uninstall
from .bridge.held import note_rewind
from .bridge.meshes.data import read_key_values, read_object_ids
from .bridge.per_object import PerObject, forget_all, forget_missing, forget_undone
from .bridge.removal import forget_put_off, in_handler, run_put_off
from .bridge.rigs.armatures import read_pose_names
from .bridge.rigs.carriers import hide_again
from .deformers import SkinningError, UnsupportedError
from .settings.checks import check_settings
from .settings.events import are_muted, bone_listeners, listeners, pattern_listeners
from .settings.objects import settings_of
from .tasks.check.lines import follow_fixes
from .tasks.corrections.names import follow_names
from .tasks.features import FEATURES
from .tasks.installed.engine import follow
from .tasks.patterns import write as show
from .tasks.skin import changes, overrides
from .tasks.skin.bind import count_changes, follow_settings, follow_spread
from .tasks.skin.evaluators import EVALUATORS, find_evaluator
from .tasks.skin.former import hide_groups, migrate
from .tasks.skin.hidden import list_hidden, own_hidden, show_returned, unlock_interfaces
from .tasks.skin.step import Step, is_without_changes
from .tasks.subject.stack import (
    armature_modifiers,
    check_not_copied,
    find_bound_objects,
    hand_over,
    pass_on,
    take_over,
)
from .tasks.subject.surfaces import find_left_behind, reading_meshes_once


class _Watch:
    """Which objects are bound, without a walk over all objects at every frame, and whether a render is under way."""

    def __init__(self) -> None:
        self.indices: list[int] = []
        """Of the bound objects among all objects of the file."""
        self.known: tuple[bytes, int] | None = None
        """All objects of the file in their order, and the count of changes, when these were found."""
        self.is_rendering = False
        self.put_off: set[int] = set()
        """`session_uid` of meshes whose changes are still to be followed."""
        self.put_off_at = 0.0
        """When the latest of them was put off, in seconds of `time.monotonic`."""
        self.key_values: PerObject[tuple[float, ...]] = PerObject()
        """Values of the shape keys of each mesh when it last changed."""
        self.names: PerObject[tuple] = PerObject()
        """Shape keys, and bones by armature, of each mesh with corrections when it last changed."""
        self.given_up: set[int] = set()
        """`session_uid` of objects that Supple has failed on: their Armature modifiers deform them."""
        self.copied: set[int] = set()
        """`session_uid` of objects that were told to have Supple's modifiers of others."""
        self.hidden: set[int] = set()
        """What `list_hidden` gave before undo."""
        self.idle_since: int | None = None
        """The count of changes since which no bound object needs anything for another pose; None if one may."""

    def bound_objects(self) -> list[bpy.types.Object]:
        """Bound objects that can be changed; looked for anew when objects were added, removed, renamed or bound."""
        if (read_object_ids(), count_changes()) == self.known:
            objects = (bpy.data.objects[index] for index in self.indices)
            found = [obj for obj in objects if settings_of(obj).is_bound]
            if len(found) == len(self.indices):
                return found
        found, taken = find_bound_objects(), set()
        self.given_up.clear()
        self.idle_since = None
        forget_missing()
        for evaluator in EVALUATORS.values():
            evaluator.keep_only(found)
        for obj in found:
            _try(obj, lambda obj=obj: _adopt(obj, taken))  # an earlier message stays until the next step
        found = [obj for obj in found if settings_of(obj).is_bound]  # an earlier version has bound the others
        for obj in find_left_behind(found):
            for evaluator in EVALUATORS.values():
                evaluator.forget(obj)
        hide_again()
        unlock_interfaces()
        self.indices = [index for index, obj in enumerate(bpy.data.objects) if obj in found]
        show.follow_objects()
        self.known = read_object_ids(), count_changes()
        return found

    def look_again(self) -> None:
        """Forget which objects are bound."""
        self.known = self.idle_since = None

    def is_idle(self) -> bool:
        """Whether another pose by itself needs nothing, as far as is known without a look at the objects."""
        return self.idle_since == count_changes()


_watch = _Watch()

# Seconds between two looks whether the user still drags
BETWEEN_LOOKS = 0.1

# Starts of the names of operators that move bones, or paint weights, with the mouse
DRAGGING_OPERATORS = ("TRANSFORM_OT_", "POSE_OT_", "PAINT_OT_weight_")


def _adopt(obj: bpy.types.Object, taken: set) -> None:
    """Take an object in that was bound, opened, appended or duplicated."""
    migrate(obj)
    if not settings_of(obj).is_bound:
        return
    overrides.mend(obj)
    take_over(obj)
    own_hidden(obj, taken)


def _report(obj: bpy.types.Object, step: Callable[[], object]) -> None:
    """Bring an object up to date; the panel shows what is wrong, and the object is left as it is."""
    if _try(obj, step) is not False and obj.session_uid not in _watch.given_up:
        _show(obj, "")


def _try(obj: bpy.types.Object, step: Callable[[], object]) -> object:
    """Run a step for an object: what it returns; False if something is wrong, which the panel shows."""
    try:
        return _guard(obj, step)
    except SkinningError as error:
        _show(obj, str(error))
        return False


def _guard(obj: bpy.types.Object, step: Callable[[], object]) -> object:
    """Run a step for an object; on an exception that no user can have meant, others go on without this one: False."""
    try:
        return step()
    except UnsupportedError:
        _give_up(obj)
        raise
    except SkinningError:
        raise
    except Exception as error:  # noqa: BLE001  one object's fault must not stop the others
        _give_up(obj)
        _show(
            obj,
            f"Supple failed on '{obj.name}' ({_describe(error)}): its Armature modifier deforms it until you bind it "
            "again",
        )
        return False


def _describe(error: Exception) -> str:
    """An error that is none of the user's, in a line to be reported."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _give_up(obj: bpy.types.Object) -> None:
    """Let the Armature modifier deform an object until it is looked at anew."""
    _watch.given_up.add(obj.session_uid)
    with suppress(Exception):  # it is what failed, perhaps
        pass_on(obj)


def _show(obj: bpy.types.Object, message: str) -> None:
    """Show a message in the panel, and in the terminal, where a farm looks for it."""
    if settings_of(obj).message == message:
        return
    settings_of(obj).message = message
    if message:
        _watch.idle_since = None
        print_line(f"Supple: {message}", sys.stderr)


def _put_off(changed: set[bpy.types.ID], depsgraph: bpy.types.Depsgraph) -> set[bpy.types.ID]:
    """Leave meshes out of the changes, and follow them later, while the user drags patterns or sliders of shape keys.

    Each step changes the mesh, and to read its weights anew takes longer than the step. Blender reports the slider of a
    key as it reports other weights, or both at once: that they are the same is seen by reading them.
    """
    if not changed:
        return changed
    meshes = {data for data in changed if isinstance(data, bpy.types.Mesh)}
    is_changing = show.is_changing()
    put_off = {mesh for mesh in meshes if _has_moved_slider(mesh, depsgraph) or is_changing}
    if not (put_off and _has_timers()):
        return changed
    _watch.put_off |= {mesh.session_uid for mesh in put_off}
    _watch.put_off_at = time.monotonic()
    if not bpy.app.timers.is_registered(come_back):
        bpy.app.timers.register(come_back, first_interval=show.SETTLED)
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


def take_up() -> None:
    """Have Supple deform bound objects as they are now, once it was enabled. A timer, too."""
    for obj in _watch.bound_objects():
        obj.update_tag()


def come_back() -> float | None:
    """Follow changes of meshes that were put off, once the user has let go. A timer."""
    if show.is_changing() or time.monotonic() - _watch.put_off_at < show.SETTLED:
        return show.SETTLED
    for mesh in bpy.data.meshes:
        if mesh.session_uid in _watch.put_off:
            mesh.update_tag()
    _watch.put_off.clear()
    return None


@persistent
def _on_frame(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    _follow(depsgraph, is_frame=True)


@persistent
def _on_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    _follow(depsgraph, is_frame=False)


def _follow(depsgraph: bpy.types.Depsgraph, is_frame: bool) -> None:
    """Follow changes of weights and bones, then the pose.

    Another frame by itself changes nothing that Blender's own modifiers need, nor does a user who drags bones.
    """
    if _watch.is_rendering and depsgraph.mode != "RENDER":
        return  # the render has the carriers
    with in_handler():
        _bring_up_to_date(depsgraph, is_frame)


def _bring_up_to_date(depsgraph: bpy.types.Depsgraph, is_frame: bool) -> None:
    updates = list_updates(depsgraph)
    if is_frame and _watch.is_idle() and (is_without_changes() or not find_changes(updates)):
        return
    dragging = depsgraph.mode != "RENDER" and is_dragging()
    is_posing = dragging and not moves_meshes(updates)
    changed = set() if is_without_changes() else find_changes(updates, is_posing)
    if not is_frame and depsgraph.mode != "RENDER":
        follow(FEATURES, [data for data, _ in updates])
    if is_posing and not changed and _watch.is_idle():
        return
    _watch.idle_since = None
    if depsgraph.mode != "RENDER":
        if not is_frame:
            _tell_copied(updates)
        _follow_meshes(changed)
        changed = _put_off(changed, depsgraph)
    bound = _watch.bound_objects()
    if (is_frame or is_posing) and not changed:
        bound = [obj for obj in bound if not _is_up_to_date(obj)]
        if not bound:
            _watch.idle_since = count_changes()
            return
    with reading_meshes_once():
        changed = changes.leave_out_same(changed, bound)
        is_pose_alone = (is_frame or is_posing) and not changed
        _follow_bound(bound, Step(depsgraph, changed, is_pose_alone, dragging))


def _is_up_to_date(obj: bpy.types.Object) -> bool:
    """Whether a bound object needs nothing for another pose by itself, and shows no message that may be out of date."""
    settings = settings_of(obj)
    evaluator = EVALUATORS.get(settings.evaluate)
    return evaluator is not None and not settings.message and evaluator.is_up_to_date(obj)


def _tell_copied(updates: list[Update]) -> None:
    """Say of objects that are not bound that they have got Supple's modifiers from others, until they have not."""
    for data, update in updates:
        if not (isinstance(data, OBJECTS) and data.type == "MESH" and update.is_updated_geometry):
            continue
        obj = data.original
        if obj.library is not None:
            continue
        if _try(obj, lambda obj=obj: check_not_copied(obj)) is False:
            _watch.copied.add(obj.session_uid)
        elif obj.session_uid in _watch.copied:
            _watch.copied.discard(obj.session_uid)
            _show(obj, "")


def _follow_bound(bound: list[bpy.types.Object], step: Step) -> None:
    """Bring bound objects up to a step."""
    for obj in bound:
        if obj.session_uid in _watch.given_up:
            continue
        _report(obj, lambda obj=obj: find_evaluator(obj).follow(obj, step))
        if _is_rough(obj) and not bpy.app.timers.is_registered(refine_dragged):
            bpy.app.timers.register(refine_dragged, first_interval=BETWEEN_LOOKS)


def _follow_meshes(changed: set[bpy.types.ID]) -> None:
    """Lay patterns anew on meshes that have changed, and follow bones that were renamed or deleted."""
    for obj in bpy.data.objects if changed else ():
        if obj.type != "MESH" or obj.library is not None or obj.data.is_editmode:
            continue
        if settings_of(obj).corrections:
            _follow_names(obj)
        if not settings_of(obj).patterns:
            continue
        if obj.data in changed:
            _show_patterns(obj, show.follow_mesh)
        if changed.intersection(other.object.data for other in armature_modifiers(obj) if other.object is not None):
            _show_patterns(obj, show.follow_bones)


def _follow_names(obj: bpy.types.Object) -> None:
    """Follow shape keys and bones that were renamed; that none was is seen by reading their names."""
    keys = obj.data.shape_keys
    bones = [read_pose_names(other.object) for other in armature_modifiers(obj) if other.object is not None]
    names = tuple(keys.key_blocks.keys()) if keys is not None else (), bones
    if _watch.names.find(obj) != names:
        _watch.names.keep(obj, names)
        follow_names(obj)


def _show_patterns(obj: bpy.types.Object, step: Callable[[bpy.types.Object], None] = show.update) -> None:
    """Follow the settings of an object's patterns; the panel shows what is wrong."""
    if are_muted() or obj.library is not None:
        return
    try:
        step(obj)
    except SkinningError as error:
        settings_of(obj).pattern_message = str(error)
    except Exception as error:  # noqa: BLE001
        settings_of(obj).pattern_message = f"Supple failed on the patterns of '{obj.name}' ({_describe(error)})"


def is_dragging() -> bool:
    """Whether the user is moving something: an operator that follows the mouse runs in one of the windows."""
    running = (operator for window in bpy.context.window_manager.windows for operator in window.modal_operators)
    # An operator whose class is unregistered while it runs is None until its window drops it.
    return any(operator is not None and operator.bl_idname.startswith(DRAGGING_OPERATORS) for operator in running)


def _is_rough(obj: bpy.types.Object) -> bool:
    """Whether an object is to be shown better once the user has let go."""
    return any(evaluator.is_rough(obj) for evaluator in EVALUATORS.values())


def refine_dragged() -> float | None:
    """Have objects shown in full quality once the user has let go. A timer: returns when to look again, if at all."""
    if is_dragging():
        return BETWEEN_LOOKS
    for obj in _watch.bound_objects():
        if _is_rough(obj):
            obj.update_tag()
    return None


def _on_setting(obj: bpy.types.Object) -> None:
    """Follow a setting of an object at once, where it needs other modifiers."""
    if settings_of(obj).is_bound:
        if obj.session_uid in _watch.given_up:
            _watch.look_again()
        _report(obj, lambda: follow_settings(obj))


@persistent
def _on_load(*_) -> None:
    forget_put_off()
    forget_all()
    _watch.look_again()
    _watch.is_rendering = False
    hide_groups()
    overrides.tidy_up()
    carriers = [(obj, settings_of(obj).carrier) for obj in find_bound_objects()]
    _watch.bound_objects()
    for obj, carrier in carriers:
        if settings_of(obj).carrier != carrier:  # made anew, at rest; without a window, no handler is called yet
            _report(
                obj, lambda obj=obj: find_evaluator(obj).bring_to_pose(obj, Step(bpy.context.evaluated_depsgraph_get()))
            )
    if not (bpy.app.background or bpy.app.timers.is_registered(take_up)):
        # the file may have been painted without Supple; Blender shows it without calling a handler, and clears tags
        bpy.app.timers.register(take_up, first_interval=0.0, persistent=True)


@persistent
def _before_undo(*_) -> None:
    _watch.hidden = list_hidden()


@persistent
def _on_undo(*_) -> None:
    note_rewind()
    forget_put_off()
    forget_undone()
    for evaluator in EVALUATORS.values():
        evaluator.expect_undo()
    _watch.look_again()
    show_returned(_watch.hidden)
    follow_fixes(check_settings(bpy.context))


def _finish_strokes() -> None:
    """Bring up to date at once what would be once the user has let go, before it is rendered or saved."""
    for obj in _watch.bound_objects():
        if _is_rough(obj):
            step = Step(bpy.context.evaluated_depsgraph_get())
            _report(obj, lambda obj=obj, step=step: find_evaluator(obj).follow(obj, step))


@persistent
def _before_save(*_) -> None:
    _finish_strokes()
    run_put_off()
    for obj in find_bound_objects():
        _guard(obj, lambda obj=obj: hand_over(obj))
    overrides.store_settings()
    own_properties()


@persistent
def _after_save(*_) -> None:
    for obj in find_bound_objects():
        if obj.session_uid not in _watch.given_up:
            _guard(obj, lambda obj=obj: take_over(obj))


@persistent
def _on_render_start(*_) -> None:
    if bpy.app.background:
        bpy.context.view_layer.update()  # what a script has posed since is followed now
    _finish_strokes()
    _watch.is_rendering = True


@persistent
def _on_render_end(*_) -> None:
    _watch.is_rendering = False


HANDLERS = (
    ("frame_change_post", _on_frame),
    ("depsgraph_update_post", _on_change),
    ("load_post", _on_load),
    ("undo_pre", _before_undo),
    ("redo_pre", _before_undo),
    ("undo_post", _on_undo),
    ("redo_post", _on_undo),
    ("save_pre", _before_save),
    ("save_post", _after_save),
    ("save_post_fail", _after_save),
    ("render_init", _on_render_start),
    ("render_complete", _on_render_end),
    ("render_cancel", _on_render_end),
)


def register() -> None:
    _watch.look_again()
    _watch.is_rendering = False
    install(HANDLERS)
    listeners.append(_on_setting)
    pattern_listeners.append(_show_patterns)
    bone_listeners.append(follow_spread)
    if hasattr(bpy.data, "objects"):
        take_up()
    else:  # the file is out of reach while a user enables Supple
        bpy.app.timers.register(take_up, first_interval=0.0)


def unregister() -> None:
    bone_listeners.remove(follow_spread)
    pattern_listeners.remove(_show_patterns)
    listeners.remove(_on_setting)
    for timer in (refine_dragged, come_back, take_up):
        if bpy.app.timers.is_registered(timer):
            bpy.app.timers.unregister(timer)
    uninstall(HANDLERS)
    if hasattr(bpy.data, "objects"):
        _before_save()
    forget_all()
