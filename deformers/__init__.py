"""Skin deformers in NumPy: nothing here knows Blender.

A deformer is a module with a frozen `Params` and the functions

    binding = bind(rest, params)                    once, slow
    points = deform(binding, pose)                  for each pose: (V, 3)
    transforms = vertex_transforms(binding, pose)   the same for any incoming positions: (V, 4, 4)
    binding = with_points(binding, points)          another shape of the same vertices, as face keys make it

A new deformer is a new file and one line of `DEFORMERS`.
"""

from .errors import SkinningError
from .particles import particles, particles_2010
from .rig.rest import Joints, Pose, Rest, Weights
from .skinning import dlb, dlbnt, ssd

DEFORMERS = {"SSD": ssd, "DLB": dlb, "DLBNT": dlbnt, "PARTICLES": particles, "PARTICLES_2010": particles_2010}

__all__ = ["DEFORMERS", "Joints", "Pose", "Rest", "SkinningError", "Weights"]
