"""What the commands do: each opens its file, calls a task, saves or prints; what goes wrong is a SkinningError."""

from __future__ import annotations

import argparse
import json

import bpy

from ..bridge.files.blend_files import open_file, save_copy
from ..bridge.files.writing import check_writable, open_replacing
from ..deformers import DEFAULT_METHOD, SkinningError
from ..deformers.automatic_weights import METHODS as AUTOMATIC_WEIGHTS
from ..options import LOOKS, CheckOptions, CopyOptions, WeightOptions
from ..settings.choices import find_method, store_of
from ..settings.objects import settings_of
from ..tasks.bake.inputs import open_with_inputs
from ..tasks.check import run as checks
from ..tasks.check.findings import describe_check, describe_fully, find_faults
from ..tasks.check.sheet import draw_sheet
from ..tasks.corrections.flesh import add_flesh
from ..tasks.corrections.from_source import correct_from
from ..tasks.engine_copy.copy import is_copy
from ..tasks.engine_copy.export import check_path
from ..tasks.engine_copy.hung import list_hung
from ..tasks.engine_copy.run import make_engine_copy
from ..tasks.handles.add import add_handles
from ..tasks.left_out import choose_usable, describe_left_out
from ..tasks.patterns.maps import write_maps
from ..tasks.patterns.show import describe
from ..tasks.skin.bind import bind_each, describe_particles
from ..tasks.skin.former import update_former
from ..tasks.skin.inspect import describe_file
from ..tasks.skin.muting import mute
from ..tasks.steps import take_all
from ..tasks.subject.character import has_armature_modifier
from ..tasks.subject.corrected import find_deforming_armature
from ..tasks.subject.frames import all_frames, frame_range
from ..tasks.subject.stack import list_former
from ..tasks.weights.automatic import assign_weights
from .arguments import WEIGHT_METHODS
from .messages import answer, answer_json, report_steps, tell, tell_left_out, tell_shares
from .options import CHOICES, read_options


def find_object(name: str) -> bpy.types.Object:
    """The object of this name, of whatever kind; raises SkinningError where there is none."""
    return bpy.data.objects.get(name) or find_among(
        name, [obj for obj in bpy.context.scene.objects if has_armature_modifier(obj)], "has no Armature modifier"
    )


def find_among(name: str, choice: list[bpy.types.Object], lack: str) -> bpy.types.Object:
    """The object of this name; raises SkinningError where there is none, or it lacks what the others have."""
    for obj in choice:
        if obj.name == name:
            return obj
    wrong = f"'{name}' {lack}" if name in bpy.data.objects else f"There is no object '{name}'"
    known = ", ".join(obj.name for obj in choice)
    raise SkinningError(f"{wrong}: choose one of {known}" if choice else f"{wrong}, and no other object can be chosen")


def choose_objects(arguments: argparse.Namespace) -> list[bpy.types.Object]:
    """The objects that are named, else all that have an Armature modifier."""
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
    check_writable(arguments.output)
    open_file(arguments.file)
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
    save_copy(arguments.output)
    return tell_left_out(left_out)


def update_characters(arguments: argparse.Namespace) -> bool:
    check_writable(arguments.output)
    open_file(arguments.file)
    meshes = list_former(bpy.context.scene.objects)
    if arguments.object:
        meshes = list_former(map(find_object, arguments.object))
    updated = update_former(meshes)
    for note in updated.notes:
        tell(f"supple: {note}")
    answer([change.describe() for change in updated.changes])
    save_copy(arguments.output)
    return tell_left_out(list(describe_left_out(updated.left_out)))


def report_particles(objects: list[bpy.types.Object]) -> None:
    """Print, to stderr, what the objects were filled with, where their method uses particles."""
    for obj in objects:
        if report := describe_particles(obj):
            tell(f"supple: {obj.name}: {report}")


def choose_settings(objects: list[bpy.types.Object], arguments: argparse.Namespace) -> None:
    """Set what is given of the choices of the objects' method; SkinningError where it has no such choice."""
    for obj in (obj for obj in objects if obj.is_editable):
        settings = settings_of(obj)
        method = find_method(arguments.method or settings.method)
        for name in CHOICES:
            value = getattr(arguments, name)
            if value is None:
                continue
            choice = next((choice for choice in method.choices if choice.name == name), None)
            if choice is None:
                raise SkinningError(f"{method.key} has no option for {name.replace('_', ' ')}: leave it out")
            choice.check(value)
            setattr(store_of(settings, method), choice.name, value)


def choose_frames(scene: bpy.types.Scene, given: tuple[range, ...] | None) -> tuple[range, ...]:
    """The frames that are given, else those of the scene."""
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
    options = read_options(CopyOptions, arguments, angle=arguments.angle, actions=actions)
    report = take_all(make_engine_copy(objects, options, arguments.output), tell_shares("the engine copy"))
    if arguments.save:
        save_copy(arguments.save)
    if arguments.report == "json":
        answer_json({"file": str(arguments.output or "")} | report.as_json())
    else:
        answer(report.describe())
    return tell_left_out(report.left_out)


def correct_meshes(arguments: argparse.Namespace) -> bool:
    check_writable(arguments.output)
    open_file(arguments.file)
    objects = choose_objects(arguments)
    steps = correct_from(objects, arguments.source, arguments.joints, arguments.angles)
    report = take_all(steps, tell_shares("the corrections"))
    save_copy(arguments.output)
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
    """The mesh of this name, or the only one of the scene that has patterns."""
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
    check_writable(arguments.output)
    open_file(arguments.file)
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
    left_out = list(describe_left_out(undeformed))
    method = WEIGHT_METHODS[arguments.method] if arguments.method else ""
    options = read_options(WeightOptions, arguments, method=method)
    reports = assign_weights(objects, options, armature)
    left_out += reports[0].left_out
    save_copy(arguments.output)
    if arguments.report == "json":
        method = arguments.method or AUTOMATIC_WEIGHTS[reports[0].method].words[0]
        chosen = {"file": str(arguments.output), "method": method, "mode": arguments.mode}
        answer_json(chosen | {"armatures": [report.as_json() for report in reports]})
        return tell_left_out(left_out)
    for report in reports:
        answer(report.describe())
    return tell_left_out(left_out)


def _check_deformed(obj: bpy.types.Object, armature: bpy.types.Object | None) -> None:
    """Raise SkinningError for a mesh without an armature, naming the option that gives it one."""
    is_child = obj.parent is not None and obj.parent.type == "ARMATURE"
    if armature is None and not has_armature_modifier(obj) and not is_child:
        raise SkinningError(f"No armature deforms '{obj.name}': name one with --armature")
