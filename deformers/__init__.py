"""Skin deformers in NumPy: nothing here knows Blender.

A deformer is a module with its facts, `INFO` (a `Method`), a frozen `Params`, and the functions

    binding = bind(rest, params)                    once, slow
    points = deform(binding, pose)                  for each pose: (V, 3)
    transforms = vertex_transforms(binding, pose)   the same for any incoming positions: (V, 4, 4)
    binding = with_points(binding, points)          another shape of the same vertices, as face keys make it

What `deform` and `vertex_transforms` return is not to be changed: if nothing has moved since, it is the same array.

A new deformer is a new file and its entry in `DEFORMERS`: menus, the command line, benchmarks and tests follow.
"""

from .errors import SkinningError, UnsupportedError
from .method import Method
from .option import Option
from .particles import particles, particles_2010
from .rig.rest import Joints, Pose, Rest, Weights
from .skinning import centers, dlb, dlbnt, ssd

# The modules by their methods' keys, in the order of menus
DEFORMERS = {module.INFO.key: module for module in (ssd, dlb, dlbnt, centers, particles, particles_2010)}

# What each method says about itself
METHODS: dict[str, Method] = {key: module.INFO for key, module in DEFORMERS.items()}

DEFAULT_METHOD, PUBLISHED_METHOD = dlb.INFO.key, dlbnt.INFO.key

# The methods that Blender's Armature modifier has, with the Params by which they do as it does
BLENDERS = {ssd.INFO.key: ssd.Params(), dlb.INFO.key: dlb.PRESERVE_VOLUME}

# Methods that a check compares beside the one in use: Blender's two, and the one that mends most faults
COMPARED = (ssd.INFO.key, dlb.INFO.key, centers.INFO.key)

__all__ = [
    "BLENDERS",
    "COMPARED",
    "DEFAULT_METHOD",
    "DEFORMERS",
    "METHODS",
    "PUBLISHED_METHOD",
    "Joints",
    "Method",
    "Option",
    "Pose",
    "Rest",
    "SkinningError",
    "UnsupportedError",
    "Weights",
]
