"""A skeleton for a bare mesh: `fit` reads meshes, has joints found in them, and makes the armature."""
