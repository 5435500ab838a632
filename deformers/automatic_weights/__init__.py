"""Weights found from bones and skin alone: one module for each method.

`solid_heat`, `surface_heat` and `bounded_biharmonic` each have their facts, `INFO`, a frozen `Params`, and `solve`,
which gives a `solution.Solution`. A new method is a new file and its entry in `SOLVERS`. `levels` is what the two that
fill a solid share; `bone_claims`, `heat_system` and `biharmonic_energy` stand behind them.
"""

from . import bounded_biharmonic, solid_heat, surface_heat
from .method import WeightMethod

SOLVERS = {module.INFO.key: module for module in (solid_heat, surface_heat, bounded_biharmonic)}
"""The modules by their methods' keys, in the order of menus."""

METHODS: dict[str, WeightMethod] = {key: module.INFO for key, module in SOLVERS.items()}
"""What each method says about itself."""

DEFAULT_METHOD = solid_heat.INFO.key
"""It weights any mesh, and what sees no bone under another method."""
