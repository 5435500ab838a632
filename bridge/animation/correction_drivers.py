"""Drivers of corrections: shape keys that rotations of bones bring in, by expressions that need no Python.

One angle drives a key at once, and so do ramps, and how far a bone swings each way. Radial basis functions are too
long for one expression: they are custom properties of the mesh, arrays whose entries have drivers: how near each pose
is, how strong each correction is before all are brought to a sum of 1, and that sum. There they are evaluated in the
same step as the pose. They are not on the shape keys' own data-block, because the glTF exporter drops all drivers of
keys if it has other drivers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import bpy
import numpy as np

from ...deformers.corrections.readers import (
    FLAT,
    RAMP_POWER,
    AngleReader,
    DirectionReader,
    RadialReader,
    RampReader,
    Reader,
)
from ...deformers.rig.joint_angles import find_fades
from ..meshes.data import mesh_of
from .drivers import (
    ROTATION_MODE,
    VARIABLES,
    drive_by_properties,
    ensure_driver,
    ensure_variables,
    measure_rotation,
    read_local_rotations,
    remove_drivers,
    set_expression,
    set_values,
)

# What names of the custom properties of one reader start with
GROUP = re.compile(r"supple_reader_\d+(?=_)")


def drive_keys(
    obj: bpy.types.Object, armature: bpy.types.Object, bones: Sequence[str], keys: Sequence[str], reader: Reader
) -> None:
    """Drive shape keys of a mesh by rotations of bones, replacing earlier drivers.

    Parameters
    ----------
    bones : sequence of str
        In the order of the reader's.
    keys : sequence of str
        Names of shape keys, in the order of the reader's corrections.
    """
    release_keys(obj, keys)
    if isinstance(reader, RadialReader):
        _drive_radially(mesh_of(obj), armature, bones, keys, reader)
        return
    is_twist, mode = isinstance(reader, AngleReader) and reader.is_twist, ROTATION_MODE
    channels = [(bones[0], channel) for channel in ("YW" if is_twist else "XZW")]
    if isinstance(reader, RampReader):
        channels, mode = [(bone, channel) for bone in bones for channel in "WXYZ"], "QUATERNION"
    for number, key in enumerate(keys):
        text = _write_value(reader, number)
        _drive_by_rotations(obj.data.shape_keys, (_value_path(key), 0), armature, channels, mode, text)


def release_keys(obj: bpy.types.Object, keys: Sequence[str]) -> None:
    """Have shape keys of a mesh follow nothing any more, and remove the custom properties that only they have read.

    `keys`: names of shape keys, also of such as are gone.
    """
    mesh, blocks = mesh_of(obj), mesh_of(obj).shape_keys
    own_properties()
    if blocks is not None:
        remove_drivers(blocks, tuple(map(_value_path, keys)))
    data = blocks.animation_data if blocks is not None else None
    kept = {found for curve in (data.drivers if data is not None else ()) for found in _read_groups(curve)}
    for name in [name for name in mesh.keys() if _find_group(name) not in ("", *kept)]:
        remove_drivers(mesh, (_property_path(name),))
        del mesh[name]
    mesh.update_tag()  # else Blender goes on by the former order of its drivers


def own_properties() -> None:
    """Have the shape keys of each mesh read its own custom properties.

    A mesh that was made a single user has a copy of them, but its keys still read those of the mesh it was copied from.
    """
    for blocks in bpy.data.shape_keys:
        data, mesh = blocks.animation_data, blocks.user
        if data is None or not blocks.is_editable or not isinstance(mesh, bpy.types.Mesh):
            continue
        for target in (target for curve in data.drivers for v in curve.driver.variables for target in v.targets):
            if _find_group(target.data_path) and target.id != mesh:
                set_values(target, id=mesh)


def read_driving_bones(obj: bpy.types.Object, keys: Sequence[str]) -> list[tuple[str, ...]]:
    """The present names of the bones that drive each of some shape keys; none for a key without drivers.

    `keys`: names of shape keys.
    """
    found = [owner.animation_data for owner in (mesh_of(obj), mesh_of(obj).shape_keys) if owner is not None]
    drivers = (curve for data in found if data is not None for curve in data.drivers)
    curves = {(curve.data_path, curve.array_index): curve for curve in drivers}
    return [_read_bones(curves, key) for key in keys]


def _read_bones(curves: dict[tuple[str, int], bpy.types.FCurve], key: str) -> tuple[str, ...]:
    curve = curves.get((_value_path(key), 0))
    if curve is not None and (groups := _read_groups(curve) - {""}):
        curve = curves.get((_property_path(f"{groups.pop()}_near"), 0))
    variables = curve.driver.variables if curve is not None else ()
    return tuple(dict.fromkeys(name for variable in variables if (name := variable.targets[0].bone_target)))


def describe_drivers(obj: bpy.types.Object) -> dict[str, str]:
    """Identify the drivers of a mesh's shape keys, whatever keys and bones are called.

    Returns
    -------
    dict of str to str
        By the present names of the keys.
    """
    blocks = mesh_of(obj).shape_keys
    data = blocks.animation_data if blocks is not None else None
    names = {_value_path(key.name): key.name for key in blocks.key_blocks} if data is not None else {}
    found = {}
    for curve in data.drivers if data is not None else ():
        if curve.data_path in names:
            targets = [target for variable in curve.driver.variables for target in variable.targets]
            read = [target.data_path or target.transform_type for target in targets]
            found[names[curve.data_path]] = "\n".join([curve.driver.expression, *read])
    return found


def write_angle(reader: AngleReader, number: int) -> str:
    """What `AngleReader.read` gives of a correction, as a driver's expression.

    `number`: of the correction.

    Returns
    -------
    str
        Of a = ROT_X, b = ROT_Z and c = ROT_W, or of a = ROT_Y and b = ROT_W for twist, in mode "SWING_TWIST_Y".
    """
    begin, top, end = reader.hats[number]
    x, _, z = reader.axis.tolist()
    angle = "a" if reader.is_twist else f"2*asin(clamp({x:.7g}*sin(a/2)+{z:.7g}*sin(b/2),-1,1))"
    sides = []
    if begin is not None:
        sides.append(f"({angle}-({begin:.7g}))/{top - begin:.7g}")
    if end is not None:
        sides.append(f"({end:.7g}-{angle})/{end - top:.7g}")
    hat = sides[0] if len(sides) == 1 else f"min({','.join(sides)})"
    hat = f"clamp(({hat}-{FLAT:.7g})/{1.0 - 2.0 * FLAT:.7g})"
    fades = [("b", reader.swing_fade), ("abs(a)", reader.twist_fade)] if reader.is_twist else [("c", reader.swing_fade)]
    return hat + "".join(f"*clamp((pi-{angle})/{np.pi - start:.7g})" for angle, start in fades)


def write_directions(reader: DirectionReader, number: int) -> str:
    """What `DirectionReader.read` gives of a correction, as `write_angle`: of a = ROT_X, b = ROT_Z and c = ROT_W."""
    scale = 1.0 / (1.0 - 2.0 * FLAT)
    terms = "".join(
        f"{scale * gain:+.6g}*clamp({x:.6g}*sin(a/2){z:+.6g}*sin(b/2))"
        for gain, (x, z) in zip(reader.gains[number].tolist(), reader.ramps.tolist(), strict=True)
        if gain
    )
    return f"clamp({terms}-{scale * FLAT:.6g})*clamp((pi-c)/{np.pi - reader.fade:.6g})"


def _write_value(reader: AngleReader | DirectionReader | RampReader, number: int) -> str:
    if isinstance(reader, AngleReader):
        return write_angle(reader, number)
    return write_directions(reader, number) if isinstance(reader, DirectionReader) else write_ramps(reader, number)


def write_ramps(reader: RampReader, number: int) -> str:
    """What `RampReader.read` gives of a correction, as a driver's expression.

    Parameters
    ----------
    number : int
        Of the correction.

    Returns
    -------
    str
        Of the bones' quaternions, four variables each.
    """
    ramps = reader.ramps[number]
    rises = []
    for bone, ((t, x, y, z), fade) in enumerate(zip(ramps.tolist(), find_fades(ramps).tolist(), strict=True)):
        a, b, c, d = VARIABLES[4 * bone : 4 * bone + 4]
        rises.append(f"max(min({x:.8g}*{b}{y:+.8g}*{c}{z:+.8g}*{d}-{t:.8g},{fade:.8g}*{a}),0)")
    return f"pow(clamp({'*'.join(rises)}),{RAMP_POWER:g})"


def write_nearness(reader: RadialReader, number: int) -> str:
    """A radial basis function of `RadialReader`, as a driver's expression.

    `number`: of the pose, 0 for rest.

    Returns
    -------
    str
        Of the bones' quaternions, four variables each.
    """
    poses, scale = reader.poses[number], 1.0 / reader.width**2
    letters = [VARIABLES[start : start + 4] for start in range(0, 4 * len(poses), 4)]
    if reader.is_swing:
        terms = [
            f"{2.0 * scale * x:+.7g}*({b}*{c}-{a}*{d}){scale * y:+.7g}*(1-2*({b}*{b}+{d}*{d}))"
            f"{2.0 * scale * z:+.7g}*({c}*{d}+{a}*{b})"
            for (a, b, c, d), (x, y, z) in zip(letters, poses.tolist(), strict=True)
        ]
        return f"exp({''.join(terms)}-{scale * len(poses):.7g})"
    scaled = (np.sqrt(2.0 * scale) * poses).tolist()
    products = [
        "".join(f"{value:+.7g}*{letter}" for value, letter in zip(pose, names, strict=True))
        for pose, names in zip(scaled, letters, strict=True)
    ]
    return f"exp({'+'.join(f'pow({product},2)' for product in products)}-{2.0 * scale * len(poses):.7g})"


def find_reading_bone(armature: bpy.types.Object, bone: str, joint_parent: str) -> str:
    """Which bone's rotation to read for a joint: the deforming bone's, or that of a control bone it hangs under.

    Parameters
    ----------
    armature : Object
        Evaluated, in the pose.
    bone : str
        The deforming bone.
    joint_parent : str
        The bone that it is joined to, "" for none.

    Returns
    -------
    str
        Of the bones from `bone` up to the first that the bone it is joined to hangs under, too, the one that has turned
        most.
    """
    bones = armature.pose.bones
    if joint_parent not in bones:
        return bone
    above = {joint_parent, *(parent.name for parent in bones[joint_parent].parent_recursive)}
    chain = [bone, *itertools.takewhile(lambda name: name not in above, _list_parents(bones[bone]))]
    rotations = read_local_rotations(armature, chain)
    return chain[int(np.linalg.norm(rotations[:, 1:], axis=1).argmax())]


def _list_parents(bone: bpy.types.PoseBone) -> list[str]:
    return [parent.name for parent in bone.parent_recursive]


def _drive_by_rotations(
    owner: bpy.types.ID,
    path: tuple[str, int],
    armature: bpy.types.Object,
    channels: list[tuple[str, str]],
    mode: str,
    expression: str,
) -> None:
    """Drive a property, at a path and index, by channels of bones' rotations."""
    driver = ensure_driver(owner, *path).driver
    for variable, (bone, channel) in zip(ensure_variables(driver, len(channels)), channels, strict=True):
        measure_rotation(variable, armature, bone, channel, mode)
    set_expression(driver, expression)


def _drive_radially(
    mesh: bpy.types.Mesh, armature: bpy.types.Object, bones: Sequence[str], keys: Sequence[str], reader: RadialReader
) -> None:
    group = next(name for name in map("supple_reader_{}".format, itertools.count(1)) if f"{name}_near" not in mesh)
    near, strength, total = f"{group}_near", f"{group}_strength", f"{group}_sum"
    channels = [(bone, channel) for bone in bones for channel in "WXYZ"]
    mesh[near] = [0.0] * len(reader.poses)
    for number in range(len(reader.poses)):
        path = _property_path(near), number
        _drive_by_rotations(mesh, path, armature, channels, "QUATERNION", write_nearness(reader, number))
    _add_up(
        mesh,
        strength,
        near,
        [list(enumerate(row)) for row in reader.gains.tolist()],
        f"max({{}}-{reader.offset:.7g},0)",
    )
    _add_up(mesh, total, strength, [[(number, 1.0) for number in range(len(keys))]], "{}")
    for number, key in enumerate(keys):
        paths = _property_path(strength, number), _property_path(total, 0)
        drive_by_properties(mesh.shape_keys, _value_path(key), mesh, paths, "a/max(b,1)")


def _add_up(mesh: bpy.types.Mesh, name: str, source: str, rows: list[list[tuple[int, float]]], wrap: str) -> str:
    """Make a custom property of sums of another's entries, (index, gain) each, in an expression's braces; its name.

    In two steps if there are more of them than variables.
    """
    most, count = len(VARIABLES), len(rows[0])
    if count > most:
        pieces = [row[start : start + most] for row in rows for start in range(0, count, most)]
        source, steps = _add_up(mesh, f"{name}_part", source, pieces, "{}"), len(pieces) // len(rows)
        rows = [[(first + step, 1.0) for step in range(steps)] for first in range(0, len(pieces), steps)]
    mesh[name] = [0.0] * len(rows)
    for number, row in enumerate(rows):
        terms = "".join(f"{gain:+.7g}*{letter}" for (_, gain), letter in zip(row, VARIABLES, strict=False))
        paths = tuple(_property_path(source, index) for index, _ in row)
        drive_by_properties(mesh, _property_path(name), mesh, paths, wrap.format(terms), number)
    return name


def _property_path(name: str, index: int | None = None) -> str:
    return f'["{name}"]' + ("" if index is None else f"[{index}]")


def _find_group(text: str) -> str:
    """The start of a custom property's name, or of that in a data path, that all of one reader share; "" for others."""
    found = GROUP.match(text.removeprefix('["'))
    return found.group() if found else ""


def _read_groups(curve: bpy.types.FCurve) -> set[str]:
    """The groups that a driver reads, of `_find_group`."""
    return {_find_group(target.data_path) for variable in curve.driver.variables for target in variable.targets}


def _value_path(key: str) -> str:
    return f'key_blocks["{bpy.utils.escape_identifier(key)}"].value'
