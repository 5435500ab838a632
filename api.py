"""Supple for scripts: bind, weight, check and bake a character. Scripts need no other module of Supple.

    hero = api.Character("Rig")
    hero.bind(look="FAST")
    hero.bake("caches", frames="1-250")

Lengths are meters and angles radians. Names of options are the fields of `options.py`, which also has their defaults.
Choices are written as their keys or their words on the command line, in capital or small letters. A method returns when
all is done, with a report whose `describe()` gives sentences. If the work cannot be done, it raises `SkinningError`
with a message for the user, and changes nothing. `find_code` gives the code of the message. Meshes that cannot take
part are left out, and `left_out` of the report names them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from .bridge.held import find_again
from .bridge.images.formats import Format
from .bridge.rigs.actions import find_rate
from .bridge.rigs.armatures import read_pose
from .deformers import BLENDERS, COMPARED, DEFAULT_METHOD, SkinningError
from .deformers.corrections.rotation_choice import ANGLES
from .deformers.patterns.heights import draw_heights
from .options import (
    LOOKS,
    CheckOptions,
    CopyOptions,
    FitOptions,
    FleshOptions,
    MotionOptions,
    SwingOptions,
    WeightOptions,
    make_options,
)
from .settings.choices import write_choices
from .settings.objects import settings_of
from .tasks.bake.caches import bake_caches
from .tasks.bake.parts import name_caches
from .tasks.bake.posed_frames import check_bakeable, choose_bakeable
from .tasks.bake.shape_keys import bake_shape_keys, check_keys_can_hold
from .tasks.check.faults import Finding
from .tasks.check.findings import describe_check, describe_fully, find_faults
from .tasks.check.fix import Fixed, fix_faults
from .tasks.check.run import Checked, check_character
from .tasks.check.sheet import draw_sheet
from .tasks.corrections.from_method import CorrectedFrom
from .tasks.corrections.from_source import correct_from
from .tasks.engine_copy.hung import list_hung
from .tasks.engine_copy.report import Report as CopyReport
from .tasks.engine_copy.run import make_engine_copy
from .tasks.features import FEATURES
from .tasks.fit.fit import as_json, describe, find_joints, make_skeleton
from .tasks.flesh.add import add_flesh
from .tasks.handles.add import add_handles
from .tasks.installed import engine
from .tasks.installed.feature import Subject
from .tasks.layers.add import LayersReport, add_layers
from .tasks.layers.mend import mend_at_rest
from .tasks.left_out import LeftOut, describe_left_out
from .tasks.motion.compare import Comparison, compare_actions
from .tasks.motion.report import Report as SeamReport
from .tasks.motion.seams import join_actions, make_loop
from .tasks.patterns.edit import SetReport, add_from_file, add_from_library, add_set
from .tasks.patterns.library import find_entry
from .tasks.patterns.maps import bind_map, read_amounts, write_maps
from .tasks.skin.baked import show_cache
from .tasks.skin.bind import bind_each, describe_particles, unbind
from .tasks.skin.former import update_former
from .tasks.skin.model import Choices, SkinSource, UnboundSkin
from .tasks.skin.muting import mute
from .tasks.skin.poses import find_skeleton
from .tasks.steps import Progress, counted, take_all
from .tasks.subject.character import find_method_in_use, find_skinned, list_deformed
from .tasks.subject.frames import Frames, as_range, read_frames
from .tasks.subject.stack import list_former
from .tasks.swing.add import add_region_swing, add_swing, update_swing
from .tasks.swing.regions import find_region_mesh
from .tasks.swing.report import SwingReport
from .tasks.weights.automatic import assign_weights
from .tasks.weights.reports import Report as WeightsReport
from .translations import find_code

__all__ = ["Character", "CheckReport", "Done", "FitReport", "SkinningError", "find_code", "fit", "list_characters"]

Meshes = Iterable[bpy.types.Object | str]


@dataclass(frozen=True)
class Done:
    """What was done.

    Attributes
    ----------
    meshes : tuple of str
        Names of the objects that were changed, or baked.
    notes : tuple of str
        Sentences on what was done.
    left_out : tuple of str
        A sentence on each object that could not take part, with the reason.
    """

    meshes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def describe(self) -> list[str]:
        """All sentences."""
        return [*self.notes, *self.left_out]


@dataclass(frozen=True)
class CheckReport:
    """The faults of a character, the worst first.

    Attributes
    ----------
    poses : int
        Number of poses in which the character was measured.
    faults : tuple of Finding
        Each has `kind`, `mesh`, `bone`, `method`, `value` and `key`.
    left_out : tuple of str
        A sentence on each mesh that could not be measured.
    """

    poses: int
    faults: tuple[Finding, ...]
    left_out: tuple[str, ...]
    checked: Checked = field(repr=False)
    options: CheckOptions = field(repr=False)

    def describe(self) -> list[str]:
        """A line for each fault."""
        return ["; ".join(describe_fully(fault)) for fault in self.faults] or ["No faults found"]

    def as_json(self) -> dict[str, Any]:
        """All measured values, as the command `check --json` writes them."""
        return describe_check(self.checked, self.faults)

    def draw(self, path: Path | str) -> None:
        """Render the worst joints, in rows, with each method, in columns, into a PNG file."""
        draw_sheet(self.checked, Path(path))


@dataclass(frozen=True)
class FitReport:
    """A skeleton that was fitted.

    Attributes
    ----------
    character : Character
    joints : dict of str to list of float
        Positions in world space, meters.
    doubtful : tuple of str
        Joints that may be far off.
    """

    character: Character
    joints: dict[str, list[float]]
    doubtful: tuple[str, ...]
    _notes: tuple[str, ...] = field(repr=False)
    _values: dict[str, Any] = field(repr=False)

    def describe(self) -> list[str]:
        """Sentences."""
        return list(self._notes)

    def as_json(self) -> dict[str, Any]:
        """All values, as the command `fit --report json` prints them."""
        return self._values


class Character:
    """An armature and the meshes that it deforms.

    Parameters
    ----------
    armature : Object or str
        The armature object, or its name. It is found again after undo.

    Raises
    ------
    SkinningError
        If there is no such armature.
    """

    def __init__(self, armature: bpy.types.Object | str) -> None:
        found = bpy.data.objects.get(armature) if isinstance(armature, str) else armature
        if found is None or found.type != "ARMATURE":
            raise SkinningError(
                f"There is no armature '{getattr(armature, 'name', armature)}': name an armature object"
            )
        self._name, self._uid = found.name, found.session_uid

    @property
    def armature(self) -> bpy.types.Object:
        """The armature object; SkinningError if it was deleted."""
        found = find_again(self._uid)
        if found is None:
            raise SkinningError(f"'{self._name}' was deleted: choose another armature")
        return found

    @property
    def meshes(self) -> list[bpy.types.Object]:
        """The meshes of the view layer that the armature deforms."""
        return list_deformed(bpy.context.view_layer, self.armature)

    def _choose(self, meshes: Meshes | None) -> list[bpy.types.Object]:
        return self.meshes if meshes is None else find_objects(meshes)

    def bind(
        self,
        method: str | None = None,
        *,
        look: str | None = None,
        meshes: Meshes | None = None,
        progress: Progress | None = None,
        **choices: Any,
    ) -> Done:
        """Have Supple deform the character instead of its Armature modifiers alone. Bound meshes are bound again.

        Parameters
        ----------
        method : str, optional
            Key of a method, such as "DLBNT" or "PARTICLES". By default that of the look, else "DLB".
        look : str, optional
            "FLESH" also adds flesh, "FAST" mutes it, "PUBLISHED" is DLBNT as published, and "BLENDER" shows bound
            meshes as Blender's own modifiers deform them. By default flesh stays as it is.
        meshes : Objects or names, optional
            All meshes of the character by default.
        progress : callable, optional
            Called with the share of the flesh that is done, 0 to 1.
        **choices
            Options of the method, such as `order="HG"` or `limb_roots=0.5`. By default the settings of the objects.

        Raises
        ------
        SkinningError
            If no mesh can be bound, or the method has no such option.
        """
        objects, chosen = self._choose(meshes), LOOKS[look.upper()] if look else None
        if chosen is not None and not chosen.method:
            return _report(objects, left_out=mute(objects, is_muted=True, has_flesh=False))
        method = method or (chosen.method if chosen is not None else DEFAULT_METHOD)
        for obj in objects if choices else ():
            write_choices(settings_of(obj), method, choices)
        bound, left_out = bind_each(objects, method)
        notes = [f"{obj.name}: {text}" for obj in bound if (text := describe_particles(obj))]
        if chosen is not None:
            left_out = left_out + mute(bound, is_muted=False, has_flesh=chosen.has_flesh)
        if chosen is not None and chosen.has_flesh:
            flesh = take_all(add_flesh(bound), progress)
            notes += flesh.describe()
        return _report(bound, notes, left_out)

    def unbind(self, meshes: Meshes | None = None) -> Done:
        """Have the Armature modifiers deform the character as before `bind`, and remove bakes. Patterns stay.

        Raises
        ------
        SkinningError
            If no mesh is bound.
        """
        bound = [obj for obj in self._choose(meshes) if settings_of(obj).is_bound]
        left_out = unbind(bound)
        return _report([obj for obj in bound if obj not in dict(left_out)], left_out=left_out)

    def update(self, meshes: Meshes | None = None) -> Done:
        """Bring meshes that an earlier version deforms by nodes up to this version.

        Returns
        -------
        Done
            `notes` have the largest distance by which each mesh changes its shape.

        Raises
        ------
        SkinningError
            If there is nothing to update.
        """
        objects = list_former(self._choose(meshes))
        updated = update_former(objects)
        notes = [*(change.describe() for change in updated.changes), *updated.notes]
        return _report([obj for obj in objects if obj not in dict(updated.left_out)], notes, updated.left_out)

    def weights(
        self,
        *,
        meshes: Meshes | None = None,
        handles: Meshes = (),
        progress: Progress | None = None,
        **options: Any,
    ) -> WeightsReport:
        """Compute automatic weights, with all meshes as one solid.

        Parameters
        ----------
        meshes : Objects or names, optional
            All meshes of the character by default. Meshes without an armature get an Armature modifier.
        handles : Objects or names, optional
            Empties to add as points, and meshes to add as cages, in place at the rest pose.
        **options
            Fields of `WeightOptions`.

        Raises
        ------
        SkinningError
            If no mesh can be weighted.
        """
        objects = self._choose(meshes)
        chosen = make_options(WeightOptions, **options)
        notes = add_handles(objects, find_objects(handles), self.armature) if handles else []
        report = assign_weights(objects, chosen, self.armature, progress)[0]
        return replace(report, notes=(*notes, *report.notes))

    def flesh(self, *, meshes: Meshes | None = None, progress: Progress | None = None, **options: Any) -> CorrectedFrom:
        """Add flesh: shape keys with drivers that give the skin at each joint the best of several shapes.

        The shapes are the skin as it is, smoothed, and that of an elastic solid. Replaces earlier flesh.

        Parameters
        ----------
        **options
            As `FleshOptions`: `quality="QUICK"` for a first look, and `picked={"upperarm.L": "SMOOTH"}` for a shape of
            your choice: "BASE", "SMOOTH" or "SOLID".

        Returns
        -------
        CorrectedFrom
            `keys` has pairs of mesh and shape key.

        Raises
        ------
        SkinningError
            If the meshes cannot be corrected.
        """
        return take_all(add_flesh(self._choose(meshes), make_options(FleshOptions, **options)), progress)

    def correct(
        self,
        source: str = "PARTICLES",
        *,
        joints: Sequence[str] = (),
        angles: Sequence[float] | None = None,
        meshes: Meshes | None = None,
        progress: Progress | None = None,
    ) -> CorrectedFrom:
        """Make corrective shape keys with drivers after another method or another mesh.

        Parameters
        ----------
        source : str
            A method; or the name of a mesh with the same vertices, for the current pose.
        joints : sequence of str, optional
            Bones: the joints at their heads are corrected. By default elbows, knees, hips and shoulders.
        angles : sequence of float, optional
            Radians by which each joint is bent; 40, 80 and 120 degrees by default.

        Raises
        ------
        SkinningError
            If nothing can be corrected.
        """
        degrees = ANGLES if angles is None else [round(math.degrees(angle), 6) for angle in angles]
        return take_all(correct_from(self._choose(meshes), source, joints, degrees), progress)

    def layers(
        self, *, limbs: str | bool | None = None, mend: bool = False, meshes: Meshes | None = None
    ) -> LayersReport:
        """Keep clothes outside of the body and of each other (*Stay Outside*).

        Parameters
        ----------
        limbs : bool or str, optional
            Also keep limbs out of each other: True for all limbs, or names of their bones, separated by commas, with
            semicolons between limbs. By default the settings of the objects.
        mend : bool
            First move what sticks out of clothes at rest beneath them, in the mesh itself.

        Raises
        ------
        SkinningError
            If no mesh lies over another.
        """
        armature, objects = self.armature, self._choose(meshes)
        if mend:
            mend_at_rest(armature, objects)
        return add_layers(armature, objects, "" if limbs is True else limbs or None)

    def swing(
        self,
        bones: Sequence[str] = (),
        *,
        region: str = "",
        progress: Progress | None = None,
        **options: Any,
    ) -> SwingReport:
        """Make tails, ears, hair and flesh lag behind the actions and swing.

        Parameters
        ----------
        bones : sequence of str, optional
            Bones that swing; by default all that have the name of a part.
        region : str, optional
            Vertex group of one mesh that swings as flesh, instead of bones.
        **options
            Fields of `SwingOptions`.

        Raises
        ------
        SkinningError
            If nothing can swing.
        """
        armature, scene, chosen = self.armature, bpy.context.scene, make_options(SwingOptions, **options)
        if region:
            mesh = find_region_mesh(bpy.context.view_layer, armature, region)
            steps = add_region_swing(armature, scene, chosen, mesh, region)
        else:
            steps = add_swing(armature, scene, chosen, bones)
        return take_all(steps, progress)

    def update_swing(self, progress: Progress | None = None) -> SwingReport:
        """Compute the swing again with its own settings, after actions, bones or the frame rate have changed."""
        return take_all(update_swing(self.armature, bpy.context.scene), progress)

    def patterns(
        self, region: str = "ALL", *, folds: str = "", meshes: Meshes | None = None, progress: Progress | None = None
    ) -> SetReport:
        """Add a set of skin patterns, each driven by its joint.

        Parameters
        ----------
        region : str
            "ALL", "TORSO", "ARMS" or "LEGS".
        folds : str
            What drives folds: "ANGLE", "COMPRESSION", "STRETCH" or "BOTH"; as the library has it by default.

        Raises
        ------
        SkinningError
            If no rig preset matches the armature, or no pattern can be added.
        """
        return take_all(add_set(self.armature, self._choose(meshes), region, folds), progress)

    def pattern(self, mesh: bpy.types.Object | str, preset: str, bone: str, **layout: Any) -> str:
        """Add one pattern, and return its name.

        Parameters
        ----------
        preset : str
            Key of the library, such as "BULGE_STEEP", or the path of a gray image.
        bone : str
            Bone whose rotation drives the pattern.
        **layout
            `location` (x, y, z) on the mesh at rest, object space, or `uv` (u, v); `size` (width, height); `angle`,
            radians; `axis`, "X", "Y" or "Z"; `driver`, "ANGLE", "COMPRESSION", "STRETCH", "BOTH" or "DEPTH". With an
            image: `kind`, "WRINKLE", "BULGE" or "BONE".

        Raises
        ------
        SkinningError
            If there is no such pattern, or it does not lie on the mesh.
        """
        (obj,) = find_objects([mesh])
        if kind := layout.pop("kind", ""):
            return add_from_file(obj, Path(bpy.path.abspath(preset)).resolve(), kind, bone, **layout).name
        return add_from_library(obj, find_entry(preset), bone, **layout).name

    def heights(self, mesh: bpy.types.Object | str, width: int = 1024) -> np.ndarray:
        """Draw the heights of a mesh's patterns in the current pose into its UV map.

        Returns
        -------
        float32 array, shape (width, width)
            In units of the object, bottom row first.

        Raises
        ------
        SkinningError
            If the mesh has no UV map, or no pattern.
        """
        (obj,) = find_objects([mesh])
        laid = bind_map(obj, width, width)
        return draw_heights(laid.heights, read_amounts(obj, laid, bpy.context.evaluated_depsgraph_get()))

    def write_heights(
        self,
        mesh: bpy.types.Object | str,
        folder: Path | str,
        frames: Frames = None,
        *,
        file_format: Format = "png16",
        width: int = 1024,
        progress: Progress | None = None,
    ) -> Done:
        """Write the heights of a mesh's patterns into a file for each frame.

        Parameters
        ----------
        frames : int, str or sequence of int, optional
            Such as "1-50,60"; the range of the scene by default.
        file_format : str
            "png16", gray of 16 bits, or "exr", the heights themselves.

        Raises
        ------
        SkinningError
            If patterns cannot be drawn, or files not written; none is left behind then.
        """
        (obj,), chosen = find_objects([mesh]), read_frames(frames, bpy.context.scene)
        steps = write_maps(obj, bpy.context.scene, chosen, Path(folder), file_format, width)
        take_all(counted(steps, len(chosen)), progress)
        return _report([obj])

    def check(
        self,
        methods: Sequence[str] = COMPARED,
        *,
        frames: Frames = None,
        meshes: Meshes | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> CheckReport:
        """Find faults in weights, and joints that collapse, swell or tear. Changes nothing.

        Parameters
        ----------
        methods : sequence of str
            Methods to compare with the method in use.
        frames : int, str or sequence of int, optional
            Frames of the scene; joints are then bent only if `angle` is given. By default a selection of frames of all
            actions, and a range of motion.
        **options
            Fields of `CheckOptions`.

        Raises
        ------
        SkinningError
            If no mesh can be measured.
        """
        objects = self._choose(meshes)
        if frames is not None:
            options = {"angle": 0.0} | options | {"frames": read_frames(frames, bpy.context.scene)}
        chosen = make_options(CheckOptions, methods=tuple(methods), **options)
        checked = take_all(check_character(objects, chosen), progress)
        left_out = tuple(f"'{name}' was left out. {reason}" for name, reason in checked.refused.items())
        return CheckReport(len(checked.poses), tuple(find_faults(checked, objects)), left_out, checked, chosen)

    def fix(self, report: CheckReport, *, progress: Progress | None = None) -> Fixed:
        """Fix the faults of a check that tools can fix: by weights, flesh, *Stay Outside* or *Mend at Rest*.

        Returns
        -------
        Fixed
            `faults` that a new check finds, `messages` on what was done, and `reasons` why faults are left.
        """
        meshes = find_objects(mesh.name for mesh in report.checked.meshes)
        return take_all(fix_faults(report.faults, meshes, report.options, lambda _fault: True), progress)

    def bake(
        self,
        output: Path | str | None = None,
        frames: Frames = None,
        *,
        meshes: Meshes | None = None,
        plays: bool = True,
        progress: Progress | None = None,
    ) -> Done:
        """Bake bound meshes, so that they render the same without Supple.

        Parameters
        ----------
        output : path, optional
            PC2 file for a single mesh, or a folder for files called `<object>.pc2`. Without it, shape keys in the open
            file hold the bake.
        frames : int, str or sequence of int, optional
            Such as "1-250:2"; the range of the scene by default. A PC2 file holds frames with one step.
        plays : bool
            Whether the meshes play the PC2 files from now on.

        Raises
        ------
        SkinningError
            If no mesh can be baked, or a file not written; nothing is left behind then.
        """
        scene = bpy.context.scene
        chosen = read_frames(frames, scene)
        bound = [obj for obj in self._choose(meshes) if meshes is not None or settings_of(obj).is_bound]
        objects, left_out = choose_bakeable(bound, scene, chosen, check_bakeable if output else check_keys_can_hold)
        if output is None:
            take_all(counted(bake_shape_keys(objects, scene, chosen), len(chosen)), progress)
            return _report(objects, left_out=left_out)
        paths = name_caches(objects, Path(output))
        take_all(counted(bake_caches(paths, scene, as_range(chosen)), len(chosen)), progress)
        for obj, path in paths.items() if plays else ():
            show_cache(obj, path.resolve())
        return _report(objects, map(str, paths.values()), left_out)

    def copy(
        self,
        output: Path | str | None = None,
        *,
        actions: Sequence[str] | None = None,
        meshes: Meshes | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> CopyReport:
        """Make a copy for game engines, which blend linearly, and measure how far its skin is from the character's.

        Parameters
        ----------
        output : path, optional
            File to write.
        actions : sequence of str, optional
            Names of the actions to copy; all that move the bones by default.
        meshes : Objects or names, optional
            By default all meshes of the character, and objects that hang on its bones.
        **options
            Fields of `CopyOptions`.

        Raises
        ------
        SkinningError
            If the character cannot be copied; nothing is left behind then.
        """
        objects = self._choose(meshes)
        objects += list_hung(bpy.context.view_layer, self.armature) if meshes is None else []
        chosen = make_options(CopyOptions, actions=actions and tuple(actions), **options)
        return take_all(make_engine_copy(objects, chosen, Path(output) if output else None), progress)

    def remove(self, *features: str, meshes: Meshes | None = None) -> Done:
        """Remove features from the character. What a user has made or sculpted stays.

        Parameters
        ----------
        *features : str
            Of "copy", "bake", "layers", "swing", "patterns", "flesh", "handles" and "skin"; all by default.

        Raises
        ------
        SkinningError
            If the character has nothing of a named feature, or it cannot be changed.
        """
        subject, notes = Subject(self.armature, tuple(self._choose(meshes))), []
        known = {feature.key: feature for feature in reversed(FEATURES)}
        for name in features:
            if name not in known:
                raise SkinningError(f"There is no feature '{name}': choose one of {', '.join(known)}")
        for name, feature in known.items():
            if name in features or (not features and feature.is_in(subject)):
                notes += engine.remove(feature, subject)
        return _report(subject.meshes, notes)

    def compare(
        self, first: str = "", second: str = "", blend: float = 0.0, progress: Progress | None = None
    ) -> Comparison:
        """Compare the frames of two actions, or of one with itself; "" is the active action. `blend` in seconds."""
        rate = find_rate(bpy.context.scene)
        return take_all(compare_actions(self.armature, first, second or first, blend, rate), progress)

    def loop(
        self, action: str = "", frames: tuple[int, int] | None = None, progress: Progress | None = None, **options: Any
    ) -> SeamReport:
        """Make a new action that loops, from the first to the last of two frames; the most similar by default.

        `options` are fields of `MotionOptions`.
        """
        chosen, rate = make_options(MotionOptions, **options), find_rate(bpy.context.scene)
        return take_all(make_loop(self.armature, action, rate, chosen, frames and (frames[1], frames[0])), progress)

    def join(
        self,
        first: str,
        second: str,
        frames: tuple[int, int] | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> SeamReport:
        """Join two actions in a new one, at a frame of each; the most similar by default.

        `options` are fields of `MotionOptions`.
        """
        chosen, rate = make_options(MotionOptions, **options), find_rate(bpy.context.scene)
        return take_all(join_actions(self.armature, first, second, rate, chosen, frames), progress)

    def deform(self, mesh: bpy.types.Object | str, method: str | None = None) -> np.ndarray:
        """Compute the points of a mesh in the current pose by NumPy, without shape keys and other modifiers.

        Parameters
        ----------
        method : str, optional
            As of `bind`; by default the method in use.

        Returns
        -------
        float32 array, shape (V, 3)
            Object space.

        Raises
        ------
        SkinningError
            If the mesh cannot be bound by the method.
        """
        skinned = find_skinned(find_objects([mesh])[0])
        in_use = find_method_in_use(skinned)
        is_blenders = (method or in_use) in BLENDERS and not (skinned.settings.is_bound and method in (None, in_use))
        source = SkinSource.of(
            skinned, Choices.read(skinned, method or in_use, is_blenders), find_skeleton(self.armature)
        )
        skin, depsgraph = UnboundSkin.of(source).bind(), bpy.context.evaluated_depsgraph_get()
        pose = read_pose(self.armature.evaluated_get(depsgraph), skin.skeleton)
        return skin.pose(replace(pose, object_to_armature=np.array(source.space, np.float64)))


def fit(
    meshes: Meshes,
    *,
    moved: Mapping[str, Sequence[float]] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> FitReport:
    """Fit a skeleton into the meshes of one character that has no armature.

    Parameters
    ----------
    meshes : Objects or names
    moved : dict of str to (x, y, z), optional
        Joints to be placed elsewhere, world space; their mirror images follow.
    **options
        Fields of `FitOptions`.

    Raises
    ------
    SkinningError
        If the meshes are not such a character.
    """
    objects, chosen = find_objects(meshes), make_options(FitOptions, **options)
    found = take_all(find_joints(objects, chosen), progress)
    for name, position in (moved or {}).items():
        found = found.moved(name, position)
    armature = make_skeleton(objects, found, chosen)
    values, notes = as_json(armature, found), tuple(describe(armature, found))
    return FitReport(Character(armature), values["joints"], tuple(values["doubtful"]), notes, values)


def list_characters() -> list[Character]:
    """The characters of the scene: armatures that deform a mesh, by name."""
    armatures = sorted((obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"), key=lambda obj: obj.name)
    return [Character(obj) for obj in armatures if list_deformed(bpy.context.view_layer, obj)]


def find_objects(objects: Meshes) -> list[bpy.types.Object]:
    """Objects by their names; SkinningError if there is no object of a name."""
    objects = [objects] if isinstance(objects, str) else list(objects)
    for name in objects:
        if isinstance(name, str) and name not in bpy.data.objects:
            raise SkinningError(f"There is no object '{name}': name an object of this file")
    return [bpy.data.objects[each] if isinstance(each, str) else each for each in objects]


def _report(objects: Iterable[bpy.types.Object], notes: Iterable[str] = (), left_out: LeftOut | None = None) -> Done:
    return Done(tuple(obj.name for obj in objects), tuple(notes), describe_left_out(left_out or []))
