"""Linear algebra that NumPy lacks: exact sparse solvers, and products sized for one thread.

`nested_dissection` takes any symmetric matrix, `block_tridiagonal` a box of cells whose penalty changes,
`schur_complement` a constant matrix that must answer at once. `products` cuts dense products into pieces.
"""
