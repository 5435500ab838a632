"""The frames of a scene, one after the other, with the points that Supple makes of objects in each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import bpy
import numpy as np

from ...bridge.changes import without_changes
from ...bridge.held import find_again
from ...bridge.meshes.data import mesh_of, read_evaluated_points
from ...deformers import SkinningError
from ...deformers.errors import find_unusable
from ...settings.objects import settings_of
from ..left_out import LeftOut, choose_usable
from ..skin.evaluators import find_evaluator
from ..skin.step import Step, at_bake_quality
from ..subject.character import has_armature_modifier
from ..subject.stack import (
    check_blends,
    check_not_linked,
    find_last_modifier,
    find_replaced_modifier,
    find_supple_modifier,
)
from .passes import list_passes


def check_bakeable(obj: bpy.types.Object | None) -> bpy.types.Modifier:
    """The first modifier that deforms an object to bake; raises SkinningError if it cannot be baked."""
    if obj is None or obj.type != "MESH" or not settings_of(obj).is_bound:
        raise SkinningError("Nothing to bake: select a mesh and bind it first")
    check_not_linked(obj)
    if obj.mode == "EDIT":
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first")
    check_blends(obj, find_replaced_modifier(obj))
    return find_supple_modifier(obj)


def choose_bakeable(
    objects: Iterable[bpy.types.Object],
    scene: bpy.types.Scene,
    frames: Sequence[int],
    check: Callable[[bpy.types.Object], object] = check_bakeable,
) -> tuple[list[bpy.types.Object], LeftOut]:
    """The objects that can be baked, as far as the first of the frames shows, and the others.

    Raises SkinningError if none can be baked: the reasons.

    Parameters
    ----------
    scene : Scene
        Of the context. It is back in its frame at the end.
    check : callable
        Raises SkinningError for an object that the bake cannot hold.
    """

    def pose(*together: bpy.types.Object) -> None:
        for _ in posed_frames(together, scene, frames[:1]):
            pass

    usable, left_out = choose_usable(objects, check)
    try:
        pose(*usable)
    except SkinningError:  # of one of them
        usable, unposed = choose_usable(usable, pose)
        left_out += unposed
    return usable, left_out


def find_meshes(scene: bpy.types.Scene, is_bound: bool) -> list[bpy.types.Object]:
    """The meshes of a scene that are bound, or (with `is_bound` off) could be; sorted by name."""
    return sorted(
        (obj for obj in scene.objects if (settings_of(obj).is_bound if is_bound else has_armature_modifier(obj))),
        key=lambda obj: obj.name,
    )


class PosedFrame(NamedTuple):
    """Objects in one frame.

    Attributes
    ----------
    done : int
        Number of frames that are done; with several passes, after the last of them.
    points : dict of Object: ndarray
        Points after Supple's modifiers, shape (V, 3), object space.
    """

    done: int
    frame: int
    points: dict[bpy.types.Object, np.ndarray]


def posed_frames(
    objects: Sequence[bpy.types.Object], scene: bpy.types.Scene, frames: Sequence[int]
) -> Generator[PosedFrame, None, None]:
    """Go through the frames with all objects at once, or in as few passes as they need (`list_passes`).

    Raises SkinningError if an object cannot be deformed; names the frame.

    Parameters
    ----------
    objects : sequence of Object
        Each can be baked (`check_bakeable`).
    scene : Scene
        Of the context. It is back in its frame at the end.
    frames : sequence of int
        In the order in which the scene is to be set to them.

    Yields
    ------
    PosedFrame
        The objects of a pass in a frame, with the same points as if each were baked alone.
    """
    current, sub, scene_name = scene.frame_current, scene.frame_subframe, scene.name
    passes, ends = list_passes(objects), ExitStack()
    try:
        for before, together in enumerate(passes):
            with ExitStack() as stack:
                for obj in together:
                    stack.enter_context(_without_baked_keys(obj))
                    stack.enter_context(_stack_down_to_supple(obj))
                    stack.enter_context(at_bake_quality(obj))
                for number, frame in enumerate(frames, start=1):
                    scene.frame_set(frame)
                    try:
                        points = _pose(together, is_first=number == 1)
                    except SkinningError as error:
                        raise SkinningError(f"Frame {frame}: {error}") from error
                    yield PosedFrame((before * len(frames) + number) // len(passes), frame, points)
            ends.enter_context(without_changes())  # modifiers that are back as they were
    finally:
        with ends:
            if (scene_now := bpy.data.scenes.get(scene_name)) is not None:
                scene_now.frame_set(current, subframe=sub)


def _pose(objects: Sequence[bpy.types.Object], is_first: bool) -> dict[bpy.types.Object, np.ndarray]:
    """Bring objects up to the present frame, and read the points of each."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    step = Step(depsgraph, {mesh_of(obj) for obj in objects} if is_first else set())  # changes may have been put off
    for obj in objects:
        find_evaluator(obj).bring_to_pose(obj, step)
    depsgraph.update()
    return {obj: _read_points(obj, depsgraph) for obj in objects}


def _read_points(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """The evaluated points of an object; raises SkinningError if they are not those of its own vertices."""
    if not obj.evaluated_get(depsgraph).is_evaluated:
        raise SkinningError(f"'{obj.name}' is disabled in this view layer: enable it and its collection to bake it")
    points = read_evaluated_points(obj, depsgraph)
    if find_unusable(points).any():
        raise SkinningError(
            f"'{obj.name}' has positions that are not numbers (NaN or infinite): check the drivers and constraints of "
            "the armature"
        )
    if len(points) != len(obj.data.vertices):
        raise SkinningError(
            f"'{obj.name}' has {len(obj.data.vertices)} vertices, but {len(points)} reach Supple: move modifiers "
            "that change the number of vertices below it"
        )
    return points


@contextmanager
def _stack_down_to_supple(obj: bpy.types.Object) -> Iterator[None]:
    """Evaluate meanwhile only the modifiers that render above Supple's, and Supple's."""
    first, last, uid = find_supple_modifier(obj), find_last_modifier(obj), obj.session_uid
    start, end = (obj.modifiers.find(modifier.name) for modifier in (first, last))
    before = {modifier.name: modifier.show_viewport for modifier in obj.modifiers}
    for index, modifier in enumerate(obj.modifiers):
        modifier.show_viewport = start <= index <= end or (index < start and modifier.show_render)
    try:
        yield
    finally:
        now = find_again(uid)
        for modifier in now.modifiers if now is not None else ():
            modifier.show_viewport = before.get(modifier.name, modifier.show_viewport)


@contextmanager
def _without_baked_keys(obj: bpy.types.Object) -> Iterator[None]:
    """Mute the keys of an earlier bake meanwhile: they would be in every frame."""
    names, uid = settings_of(obj).baked_keys.split("\n"), obj.session_uid
    muted = [key.name for key in _list_keys(obj) if key.name in names and not key.mute]
    _mute(obj, muted, True)
    try:
        yield
    finally:
        if (now := find_again(uid)) is not None:
            _mute(now, muted, False)


def _mute(obj: bpy.types.Object, names: Collection[str], is_muted: bool) -> None:
    for key in _list_keys(obj):
        if key.name in names:
            key.mute = is_muted


def _list_keys(obj: bpy.types.Object) -> list[bpy.types.ShapeKey]:
    return [] if obj.data.shape_keys is None else [*obj.data.shape_keys.key_blocks]
