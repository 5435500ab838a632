"""Automatic weights from bones and skin: one module for each method.

`solid_heat`, `surface_heat` and `bounded_biharmonic` each have an `INFO`, a frozen `Params`, and `solve`, which
returns a `method.Solution`. A new method is a new file and its entry in `SOLVERS`. The two that fill a solid share
`levels`, which uses `bone_claims`, `heat_system` and `biharmonic_energy`.
"""

from . import bounded_biharmonic, solid_heat, surface_heat
from .method import WeightMethod

# In the order of menus
SOLVERS = {module.INFO.key: module for module in (solid_heat, surface_heat, bounded_biharmonic)}

METHODS: dict[str, WeightMethod] = {key: module.INFO for key, module in SOLVERS.items()}

# Weights any mesh, and the vertices that see no bone in other methods
DEFAULT_METHOD = solid_heat.INFO.key
