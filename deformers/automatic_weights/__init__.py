"""Weights found from bones and skin alone: one module for each method.

`solid_heat`, `surface_heat` and `bounded_biharmonic` each have `Params` and `solve`, which gives a
`solution.Solution`. Behind them stand `heat_system`, `biharmonic_energy` and `bone_claims`.
"""
