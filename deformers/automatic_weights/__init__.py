"""Weights found from bones and skin alone: one module for each method.

`solid_heat`, `surface_heat` and `bounded_biharmonic` each have `Params` and `solve`, which gives a
`solution.Solution`. `levels` is what the two that fill a solid share; `bone_claims`, `heat_system` and
`biharmonic_energy` stand behind them.
"""
