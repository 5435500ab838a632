"""The commands on a character: each opens its file, changes or measures the character, and saves or prints."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import bpy

from ..api import Character, fit
from ..bridge.files.blend_files import open_file, save_copy
from ..bridge.files.writing import check_writable, open_replacing
from ..deformers import DEFAULT_METHOD, SkinningError
from ..deformers.automatic_weights import METHODS as AUTOMATIC_WEIGHTS
from ..options import (
    LOOKS,
    CheckOptions,
    CopyOptions,
    FitOptions,
    MotionOptions,
    SwingOptions,
    WeightOptions,
    make_options,
)
from ..settings.choices import write_choices
from ..settings.objects import settings_of
from ..tasks.bake.inputs import open_with_inputs
from ..tasks.check import run as checks
from ..tasks.check.findings import describe_check, describe_fully, find_faults
from ..tasks.check.sheet import draw_sheet
from ..tasks.corrections.from_source import correct_from
from ..tasks.engine_copy.copies import is_copy
from ..tasks.engine_copy.export import check_path
from ..tasks.engine_copy.hung import list_hung
from ..tasks.engine_copy.run import make_engine_copy
from ..tasks.flesh.add import add_flesh
from ..tasks.handles.add import add_handles
from ..tasks.layers.mend import mend_at_rest
from ..tasks.layers.present import remove_layers
from ..tasks.left_out import choose_usable, describe_left_out
from ..tasks.patterns.maps import write_maps
from ..tasks.patterns.write import describe
from ..tasks.skin.bind import bind_each, describe_particles
from ..tasks.skin.former import update_former
from ..tasks.skin.inspect import describe_file
from ..tasks.skin.muting import mute
from ..tasks.steps import take_all
from ..tasks.subject.character import has_armature_modifier
from ..tasks.subject.corrected import find_deforming_armature
from ..tasks.subject.frames import all_frames, frame_range
from ..tasks.subject.stack import list_former
from ..tasks.swing.remove import remove_swing
from ..tasks.weights.automatic import assign_weights
from .arguments import WEIGHT_METHODS
from .messages import answer, answer_json, report_steps, tell, tell_left_out, tell_shares
from .options import CHOICES, read_options


@contextmanager
def editing(arguments: argparse.Namespace) -> Iterator[None]:
    """Open the file of a command, and save it to `--output` after the block."""
    check_writable(arguments.output)
    open_file(arguments.file)
    yield
    save_copy(arguments.output)


def answer_report(arguments: argparse.Namespace, lines: Iterable[str], values: Mapping[str, Any]) -> None:
    """Print a result in the format of `--report`: its lines, or its values as JSON."""
    if arguments.report == "json":
        answer_json(values)
    else:
        answer(lines)


def find_object(name: str) -> bpy.types.Object:
    """The object of this name, of any type; SkinningError if there is none."""
    return bpy.data.objects.get(name) or find_among(
        name, [obj for obj in bpy.context.scene.objects if has_armature_modifier(obj)], "has no Armature modifier"
    )


def find_among(name: str, choice: list[bpy.types.Object], lack: str) -> bpy.types.Object:
    """The object of this name; SkinningError if there is none, or it is not in the choice, with its lack."""
    for obj in choice:
        if obj.name == name:
            return obj
    wrong = f"'{name}' {lack}" if name in bpy.data.objects else f"There is no object '{name}'"
    known = ", ".join(obj.name for obj in choice)
    raise SkinningError(f"{wrong}: choose one of {known}" if choice else f"{wrong}, and no other object can be chosen")


def find_armature(name: str | None) -> bpy.types.Object:
    """The armature of a name, or the only one of the scene; SkinningError if there is none, or several."""
    found = [obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"]
    chosen = [obj for obj in found if name in (None, obj.name)]
    known = ", ".join(f"'{obj.name}'" for obj in found)
    if len(chosen) == 1:
        return chosen[0]
    if not found:
        raise SkinningError("The scene has no armature: open a file with an animated character")
    if name is not None:
        raise SkinningError(f"There is no armature '{name}': choose one of {known}")
    raise SkinningError(f"The scene has {len(found)} armatures: use --armature with one of {known}")


def choose_objects(arguments: argparse.Namespace) -> list[bpy.types.Object]:
    """The objects of `--object`, or all that have an Armature modifier."""
    if arguments.object:
        return [find_object(name) for name in arguments.object]
    return [obj for obj in bpy.context.scene.objects if has_armature_modifier(obj)]


def show_info(arguments: argparse.Namespace) -> None:
    if arguments.expect:
        open_with_inputs(arguments.file, arguments.expect)
        answer([f"{arguments.file}: unchanged since the job was made"])
        return
    open_file(arguments.file)
    described = describe_file(bpy.context.scene)
    if arguments.json:
        answer_json(described)
        return
    lines = [f"{arguments.file}: frames {described['frame_start']}-{described['frame_end']}"]
    for obj in described["objects"]:
        state = f"bound by {obj['method']}" if obj["bound"] else obj["problem"] or "can be bound"
        size = f"{obj['vertices']} vertices, {obj['deforming_bones']} bones of '{obj['armature']}'"
        patterns = f", {obj['patterns']} patterns" if obj["patterns"] else ""
        lines.append(f"  {obj['name']}: {size}, {state}{patterns}")
    answer(lines)


def bind_characters(arguments: argparse.Namespace) -> bool:
    with editing(arguments):
        if arguments.evaluate:
            tell("supple: --evaluate is not used any more: the method decides by what the skin is deformed")
        look = LOOKS.get((arguments.look or "").upper())
        arguments.method = arguments.method or (look.method if look is not None else DEFAULT_METHOD)
        objects = choose_objects(arguments)
        choose_settings(objects, arguments)
        objects, unbound = bind_each(objects, arguments.method)
        left_out = list(describe_left_out(unbound))
        report_particles(objects)
        if look is not None:
            left_out += describe_left_out(mute(objects, is_muted=False, has_flesh=look.has_flesh))
        for armature in dict.fromkeys(find_deforming_armature(obj) for obj in objects if look and look.has_flesh):
            own = [obj for obj in objects if find_deforming_armature(obj) == armature]
            report = take_all(add_flesh(own), tell_shares("the flesh"))
            for line in report.describe():
                tell(f"supple: {line}")
            left_out += report.left_out
    return tell_left_out(left_out)


def update_characters(arguments: argparse.Namespace) -> bool:
    with editing(arguments):
        objects = map(find_object, arguments.object) if arguments.object else bpy.context.scene.objects
        updated = update_former(list_former(objects))
        for note in updated.notes:
            tell(f"supple: {note}")
        answer([change.describe() for change in updated.changes])
    return tell_left_out(describe_left_out(updated.left_out))


def report_particles(objects: list[bpy.types.Object]) -> None:
    """Print the particles of the objects to standard error, if their method uses particles."""
    for obj in objects:
        if report := describe_particles(obj):
            tell(f"supple: {obj.name}: {report}")


def choose_settings(objects: list[bpy.types.Object], arguments: argparse.Namespace) -> None:
    """Set the given choices of the objects' method; SkinningError if the method has no such choice."""
    given = {name: value for name in CHOICES if (value := getattr(arguments, name)) is not None}
    for obj in (obj for obj in objects if obj.is_editable):
        settings = settings_of(obj)
        write_choices(settings, arguments.method or settings.method, given)


def choose_frames(scene: bpy.types.Scene, given: tuple[range, ...] | None) -> tuple[range, ...]:
    """The frames of `--frames`, or those of the scene."""
    return given or (frame_range(scene.frame_start, scene.frame_end, 1),)


def check_character(arguments: argparse.Namespace) -> bool:
    for path in filter(None, (arguments.json, arguments.sheet)):
        check_writable(path)
    open_file(arguments.file)
    objects = choose_objects(arguments)
    chosen = {} if arguments.bend is None else {"angle": arguments.bend}
    if arguments.frames:
        chosen = {"angle": 0.0, "frames": all_frames(arguments.frames)} | chosen
    options = CheckOptions(methods=tuple(arguments.methods), **chosen)
    checked = take_all(checks.check_character(objects, options))
    tell(f"supple: {len(checked.poses)} poses of {len(checked.meshes)} meshes")
    faults = find_faults(checked, objects)
    if arguments.json:
        described = json.dumps(describe_check(checked, faults), indent=2)
        with open_replacing(arguments.json) as stream:
            stream.write(described.encode())
    if arguments.sheet:
        draw_sheet(checked, arguments.sheet)
    answer(["; ".join(describe_fully(fault)) for fault in faults] or ["No faults found"])
    return tell_left_out(f"'{name}' was left out. {reason}" for name, reason in checked.refused.items())


def make_copy(arguments: argparse.Namespace) -> bool:
    if arguments.output:
        check_path(arguments.output, arguments.target)
    if arguments.save:
        check_writable(arguments.save)
    open_file(arguments.file)
    objects = choose_objects(arguments)
    if not arguments.object:
        objects = [obj for obj in objects if not is_copy(obj)]
        armatures = dict.fromkeys(map(find_deforming_armature, objects))
        objects += [obj for armature in armatures for obj in list_hung(bpy.context.view_layer, armature)]
    actions = tuple(arguments.action) if arguments.action else None
    options = make_options(CopyOptions, **read_options(CopyOptions, arguments), angle=arguments.angle, actions=actions)
    report = take_all(make_engine_copy(objects, options, arguments.output), tell_shares("the engine copy"))
    if arguments.save:
        save_copy(arguments.save)
    answer_report(arguments, report.describe(), {"file": str(arguments.output or "")} | report.as_json())
    return tell_left_out(report.left_out)


def correct_meshes(arguments: argparse.Namespace) -> bool:
    with editing(arguments):
        steps = correct_from(choose_objects(arguments), arguments.source, arguments.joints, arguments.angles)
        report = take_all(steps, tell_shares("the corrections"))
    answer(report.describe())
    return tell_left_out(report.left_out)


def write_patterns(arguments: argparse.Namespace) -> None:
    open_file(arguments.file)
    scene = bpy.context.scene
    obj = _find_patterned(arguments.object)
    frames = all_frames(choose_frames(scene, arguments.frames))
    report_steps(write_maps(obj, scene, frames, arguments.output, arguments.format, arguments.width), len(frames))
    if notes := " ".join(describe(obj)):
        tell(f"supple: {obj.name}: {notes}")


def _find_patterned(name: str | None) -> bpy.types.Object:
    """The mesh of this name, or the only mesh of the scene that has patterns."""
    found = [obj for obj in bpy.context.scene.objects if settings_of(obj).patterns]
    if not found:
        raise SkinningError("No object in the scene has patterns: add patterns first")
    if name is not None:
        return bpy.data.objects.get(name) or find_among(name, found, "has no patterns")
    if len(found) > 1:
        known = ", ".join(obj.name for obj in found)
        raise SkinningError(f"{len(found)} objects have patterns: use --object with one of {known}")
    return found[0]


def weight_meshes(arguments: argparse.Namespace) -> bool:
    with editing(arguments):
        scene = bpy.context.scene
        meshes = [obj for obj in scene.objects if obj.type == "MESH"]
        armatures = [obj for obj in scene.objects if obj.type == "ARMATURE"]
        armature = armatures[0] if len(armatures) == 1 else None
        if arguments.armature is not None:
            armature = find_among(arguments.armature, armatures, "is not an armature in the scene")
        if arguments.object:
            objects = [find_among(name, meshes, "is not a mesh in the scene") for name in arguments.object]
        else:
            objects = [obj for obj in meshes if has_armature_modifier(obj)]
        if arguments.handle:
            handles = [find_object(name) for name in arguments.handle]
            for line in add_handles(objects, handles, armature if arguments.armature is not None else None):
                tell(f"supple: {line}")
        if not objects:
            raise SkinningError(
                "No mesh has an Armature modifier: name the meshes to weight with --object, and their armature with "
                "--armature"
            )
        objects, undeformed = choose_usable(objects, lambda obj: _check_deformed(obj, armature))
        given = read_options(WeightOptions, arguments) | {"method": WEIGHT_METHODS.get(arguments.method, "")}
        reports = assign_weights(objects, make_options(WeightOptions, **given), armature)
    values = {
        "file": str(arguments.output),
        "method": arguments.method or AUTOMATIC_WEIGHTS[reports[0].method].words[0],
        "mode": arguments.mode,
        "armatures": [report.as_json() for report in reports],
    }
    answer_report(arguments, [line for report in reports for line in report.describe()], values)
    return tell_left_out([*describe_left_out(undeformed), *reports[0].left_out])


def _check_deformed(obj: bpy.types.Object, armature: bpy.types.Object | None) -> None:
    """Raise SkinningError for a mesh without an armature, with the option that names one."""
    is_child = obj.parent is not None and obj.parent.type == "ARMATURE"
    if armature is None and not has_armature_modifier(obj) and not is_child:
        raise SkinningError(f"No armature deforms '{obj.name}': name one with --armature")


def fit_skeleton(arguments: argparse.Namespace) -> bool:
    with editing(arguments):
        objects = bpy.context.view_layer.objects
        bare = [obj for obj in objects if obj.type == "MESH" and not has_armature_modifier(obj)]
        if arguments.object:
            meshes = [find_among(name, bare, "is not a mesh without an armature") for name in arguments.object]
        else:
            meshes = [obj for obj in bare if obj.visible_get()]
        report = fit(meshes, progress=tell_shares("the joints"), **read_options(FitOptions, arguments))
        left_out: tuple[str, ...] = ()
        if arguments.make:
            report.character.weights(meshes=meshes)
            left_out = report.character.bind(meshes=meshes).left_out
    answer_report(arguments, report.describe(), report.as_json())
    return tell_left_out(left_out)


def keep_outside(arguments: argparse.Namespace) -> None:
    with editing(arguments):
        scene, layer = bpy.context.scene, bpy.context.view_layer
        if arguments.remove:
            has_armature = any(obj.type == "ARMATURE" for obj in scene.objects)
            every = [obj for obj in layer.objects if obj.type == "MESH"]
            meshes = Character(find_armature(arguments.armature)).meshes if has_armature else every
            removed = [obj.name for obj in remove_layers(meshes)]
            lines, found = [f"Removed Stay Outside from {len(removed)} meshes"], {"removed": removed}
        else:
            character = Character(find_armature(arguments.armature))
            lines = mend_at_rest(character.armature, character.meshes) if arguments.mend else []
            report = character.layers(limbs=arguments.bones or arguments.limbs)
            lines, found = [*lines, *report.describe()], {"mended": lines, **report.as_json()}
    answer_report(arguments, lines, found)


def swing(arguments: argparse.Namespace) -> bool:
    with editing(arguments):
        character, progress = Character(find_armature(arguments.armature)), tell_shares("the swing")
        if arguments.remove:
            lines, left_out = remove_swing(character.armature, arguments.bones), ()
            values: dict[str, Any] = {"armature": character.armature.name, "removed": True}
        else:
            given = read_options(SwingOptions, arguments) | {"region": arguments.region or "", "progress": progress}
            report = character.update_swing(progress) if arguments.update else character.swing(arguments.bones, **given)
            lines, left_out, values = report.describe(), report.left_out, report.as_json()
    answer_report(arguments, lines, values)
    return tell_left_out(why for _, why in left_out)


def move(arguments: argparse.Namespace) -> None:
    names = arguments.action or [""]
    _check_actions(arguments, names)
    open_file(arguments.file)
    character, progress = Character(find_armature(arguments.armature)), tell_shares("the motion")
    given = read_options(MotionOptions, arguments)
    if arguments.what == "compare":
        report: Any = character.compare(names[0], names[-1], given["blend"], progress)
    elif arguments.what == "join":
        report = character.join(*names, frames=arguments.pair, progress=progress, **given)
    else:
        report = character.loop(names[0], arguments.pair, progress, **given)
    if arguments.output:
        save_copy(arguments.output)
    answer_report(arguments, report.describe(), report.as_json())


def _check_actions(arguments: argparse.Namespace, names: list[str]) -> None:
    """Raise SkinningError for arguments of `motion` that exclude each other."""
    if arguments.what == "join" and len(names) != 2:
        raise SkinningError("Join needs two actions: use --action twice")
    if len(names) > (1 if arguments.what == "loop" else 2):
        raise SkinningError(f"{len(names)} actions are too many: use --action once for a loop, otherwise once or twice")
    if arguments.what == "compare" and arguments.output:
        raise SkinningError("A comparison changes nothing to save: leave out --output")
    if arguments.what != "compare" and not arguments.output:
        raise SkinningError("The file with the new action needs a name: use --output")
    if arguments.output:
        check_writable(arguments.output)
