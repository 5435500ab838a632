"""What actions see of Blender: the user's objects, without what Supple has added, the same in a run without Supple."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bpy
import addon_utils
import state

import checkout

ACTIONS: dict[str, tuple[Callable[[World], str | None], int, bool]] = {}
"""By name: the function, how often it is drawn, and whether it may run in any mode."""


class NothingToDoError(Exception):
    """Nothing is there that an action could act on."""


def action(often: int = 3, any_mode: bool = False) -> Callable:
    """Enter a function, which returns what it has chosen, among the actions."""

    def enter(function: Callable[[World], str | None]) -> Callable[[World], str | None]:
        ACTIONS[function.__name__] = function, often, any_mode
        return function

    return enter


@dataclass
class World:
    """The file that is open, and where an action's choices come from.

    Attributes
    ----------
    rng : random.Random
        Of the present action.
    without_supple : bool
        Whether this is the run in which nothing is ever bound.
    folder : Path
        For files that actions write.
    only_linear : bool
        Whether SSD is the only method, so that all has to be as under Blender's own modifier.
    depth : int
        Steps that can be undone.
    problems : list of str
        What was found wrong during an action.
    used : Counter
        How often an operator or a setting was used, by its name and whether that was done.
    """

    folder: Path
    without_supple: bool = False
    only_linear: bool = False
    rng: random.Random = field(default_factory=random.Random)
    depth: int = 0
    problems: list[str] = field(default_factory=list)
    used: Counter = field(default_factory=Counter)

    def pick(self, items: Iterable[Any]) -> Any:
        items = list(items)
        if not items:
            raise NothingToDoError
        return self.rng.choice(items)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def between(self, low: float, high: float) -> float:
        return round(self.rng.uniform(low, high), 4)

    def objects(self, *kinds: str) -> list[bpy.types.Object]:
        """The user's objects of the view layer that can be changed, by name."""
        found = [obj for obj in bpy.context.view_layer.objects if obj.library is None]
        return sorted((obj for obj in found if not kinds or obj.type in kinds), key=lambda obj: obj.name)

    def meshes(self) -> list[bpy.types.Object]:
        return self.objects("MESH")

    def own_meshes(self) -> list[bpy.types.Object]:
        """Those whose mesh can be changed, too, and is not too large for Python."""
        return [obj for obj in self.meshes() if obj.data.library is None and obj.override_library is None]

    def skinned(self) -> list[bpy.types.Object]:
        return [obj for obj in self.meshes() if state.armature_modifiers(obj)]

    def armatures(self) -> list[bpy.types.Object]:
        return self.objects("ARMATURE")

    def own_armatures(self) -> list[bpy.types.Object]:
        """Those whose bones can be changed."""
        return [obj for obj in self.armatures() if obj.data.library is None and obj.override_library is None]

    def bone(self, armature: bpy.types.Object | None = None) -> bpy.types.PoseBone:
        armature = armature or self.pick(self.armatures())
        return self.pick(armature.pose.bones)

    def select(self, *objects: bpy.types.Object) -> None:
        """Select these only, in Object Mode; the first becomes the active one."""
        self.leave_modes()
        for obj in bpy.context.view_layer.objects:
            obj.select_set(obj in objects)
        bpy.context.view_layer.objects.active = objects[0]

    def leave_modes(self) -> None:
        for obj in bpy.context.view_layer.objects:
            if obj.mode != "OBJECT":
                bpy.context.view_layer.objects.active = obj
                if obj.mode == "WEIGHT_PAINT" and bpy.app.version[:2] == (5, 0):
                    obj.data.use_paint_mask_vertex = False  # with it, Blender 5.0.1 crashes here
                self.call(bpy.ops.object.mode_set, mode="OBJECT")
        active = bpy.context.view_layer.objects.active
        if bpy.context.mode != "OBJECT" or (active is not None and active.mode != "OBJECT"):
            raise NothingToDoError

    def enter(self, obj: bpy.types.Object, mode: str) -> None:
        """Put an object into a mode."""
        if not obj.visible_get():
            raise NothingToDoError
        self.select(obj)
        self.call(bpy.ops.object.mode_set, mode=mode)
        if obj.mode != mode:
            raise NothingToDoError

    def call(self, operator: Callable, *arguments: Any, **options: Any) -> bool:
        """Call one of Blender's operators; False where it refused."""
        try:
            return operator(*arguments, **options) == {"FINISHED"}
        except RuntimeError as error:
            self.check_refusal(operator, error)
            return False

    def call_supple(self, name: str, /, **options: Any) -> bool:
        """Call one of Supple's operators, if this run has Supple; where it refuses, nothing may have changed.

        That takes longer than all else, and is looked at now and then.
        """
        is_compared = self.chance(0.15)
        if self.without_supple or not is_enabled():
            return False
        before = state.dump() if is_compared and state.is_small() else None
        try:
            is_done = getattr(bpy.ops.supple, name)(**options) == {"FINISHED"}
        except RuntimeError as error:
            self.used[name, False] += 1
            self.check_refusal(name, error)
            if before is not None and (changes := state.changes_since(before)):
                self.problems.append(f"changed by {name}, which refused: {changes}: {error}")
            print("refused:", error)
            return False
        self.used[name, is_done] += 1
        return is_done

    def check_refusal(self, operator: Any, error: RuntimeError) -> None:
        if "Traceback" in str(error):
            self.problems.append(f"traceback in {operator}: {error}")

    def push(self, message: str) -> None:
        bpy.ops.ed.undo_push(message=message)
        self.depth += 1

    def open(self, path: Path) -> None:
        bpy.ops.wm.open_mainfile(filepath=str(path))
        self.tell_handlers()
        bpy.context.view_layer.update()
        self.start_history()

    def tell_handlers(self) -> None:
        """Have handlers called, which hear of an opened file or another scene only where there is a window."""
        for obj in bpy.data.objects:
            obj.update_tag()

    def start_history(self) -> None:
        self.depth = 0
        bpy.ops.ed.undo_push(message="start")


def is_enabled() -> bool:
    return hasattr(bpy.types.Object, "supple")


def enable() -> None:
    addon_utils.enable(checkout.MODULE, default_set=True)


def disable() -> None:
    addon_utils.disable(checkout.MODULE, default_set=True)


def draw_actions(rng: random.Random, count: int, left_out: Collection[str]) -> list[tuple[str, int]]:
    """Draw actions for a sequence: from some of the kinds only, so that some kinds meet often."""
    usual = [name for name, (_, often, _) in ACTIONS.items() if often >= 6]
    names = sorted({*usual, *rng.sample(sorted(ACTIONS), len(ACTIONS) // 3)} - {*left_out})
    chosen = ["bind", *rng.choices(names, [ACTIONS[name][1] for name in names], k=count - 1)]
    return [(name, rng.randrange(1_000_000)) for name in chosen]


def texts(*parts: Any) -> str:
    """What was chosen, in words."""
    names = (getattr(part, "name", part) for part in parts)
    return " ".join(f"{name:g}" if isinstance(name, float) else str(name) for name in names)


def order_modifiers(obj: bpy.types.Object, names: Sequence[str]) -> None:
    """Bring the user's modifiers into an order; what Supple has put above, or Armature modifiers below, goes along."""
    groups: dict[str, list[str]] = {}
    above: list[str] = []
    latest: list[str] = above
    for modifier in obj.modifiers:
        if modifier.type == "ARMATURE" and state.is_added(obj, modifier):
            latest.append(modifier.name)
            continue
        above.append(modifier.name)
        if not state.is_added(obj, modifier):
            groups[modifier.name], latest, above = above, above, []
    wanted = [name for own in names for name in groups[own]] + above
    for index, name in enumerate(wanted):
        obj.modifiers.move(obj.modifiers.find(name), index)
