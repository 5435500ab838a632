"""What tests of patterns on objects share: a skin with a UV map, and what patterns move."""

import bpy
import numpy as np

from scenes import add_tube, add_uv, evaluated_points, snapshot  # noqa: F401 others take it from here
from supple.bridge.images.data import new_image
from supple.bridge.modifiers import read_input
from supple.nodes.patterns import amount_input
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import add_pattern
from supple.tasks.patterns.library import LibraryEntry
from supple.tasks.patterns.write import find_modifier


def add_skin(uv: bool = False, **settings) -> tuple:
    """A fine, smooth tube, with a UV map if told so, and its armature."""
    obj, armature = add_tube(**{"rings": 48, "sides": 32, "has_uv": uv} | settings)
    obj.data.polygons.foreach_set("use_smooth", [True] * len(obj.data.polygons))
    return obj, armature


def add_own(obj: bpy.types.Object, kind: str = "BULGE", bone: str = "bone.1", values=None, **given):
    """A pattern with a picture of its own: a round hill if not told otherwise."""
    if values is None:
        x, y = np.meshgrid(*2 * [np.linspace(-1, 1, 32)])
        values = np.clip(1.0 - x**2 - y**2, 0.0, 1.0) * (0.5 if kind == "WRINKLE" else 1.0)
        values += 0.5 if kind == "WRINKLE" else 0.0
    entry = LibraryEntry("Hill", kind, "", start=0.2, full=1.2, key="IMAGE")
    return add_pattern(obj, entry, new_image("Hill", values), bone, **given)


def full_snapshot(*objects: bpy.types.Object) -> dict:
    """`snapshot`, and all else that patterns touch."""
    state = snapshot(*objects)
    state |= {name: sorted(one.name for one in getattr(bpy.data, name)) for name in ("images", "materials", "textures")}
    for material in bpy.data.materials:
        tree = material.node_tree
        if tree is not None:
            state[f"{material.name} nodes"] = sorted(node.name for node in tree.nodes)
            state[f"{material.name} links"] = sorted(
                (one.from_node.name, one.from_socket.identifier, one.to_node.name, one.to_socket.identifier)
                for one in tree.links
            )
    for obj in objects:
        data = obj.animation_data
        state[f"{obj.name} drivers"] = (
            sorted((one.data_path, one.array_index) for one in data.drivers) if data else None
        )
        state[f"{obj.name} keys"] = sorted(key for key in obj.keys() if key != "supple")
        state[f"{obj.name} slots"] = [slot.material and slot.material.name for slot in obj.material_slots]
    return state


def moved_by_patterns(obj: bpy.types.Object) -> float:
    """Largest distance by which an object's patterns displace it now."""
    modifier = find_modifier(obj)
    shown = evaluated_points(obj)
    modifier.show_viewport = False
    plain = evaluated_points(obj)
    modifier.show_viewport = True
    return float(np.linalg.norm(shown - plain, axis=1).max())


def amounts(obj: bpy.types.Object) -> list[float]:
    """What the drivers have made of the pose, for each pattern that is shown."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    modifier = find_modifier(evaluated)
    if modifier is not None:
        shown = [one.number for one in settings_of(obj).patterns if one.show and one.driven]
        names = {item.name for item in modifier.node_group.interface.items_tree}
        return [read_input(modifier, amount_input(one)) for one in shown if amount_input(one) in names]
    names = sorted(key for key in evaluated.keys() if "_amounts_" in key)
    return [value for name in names for value in evaluated[name]]


def forget_images() -> None:
    """Remove all images: those of patterns stay in the file."""
    for image in list(bpy.data.images):
        bpy.data.images.remove(image)


def make_material(obj: bpy.types.Object, linked: bool) -> bpy.types.Material:
    material = bpy.data.materials.new("Skin")
    if bpy.app.version < (5, 0):
        material.use_nodes = True
    obj.data.materials.append(material)
    if linked:
        tree = material.node_tree
        bump = tree.nodes.new("ShaderNodeBump")
        shader = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")
        tree.links.new(bump.outputs["Normal"], shader.inputs["Normal"])
    return material
