"""Linear algebra that NumPy lacks: sparse solvers, and products sized for one thread.

Each direct solver is a module with `factorize(...)`, which gives an object whose `solve(right)` takes right-hand sides
(N, K). `nested_dissection` takes any sparse, symmetric, positive definite matrix over points: surfaces, and clouds of
particles, for which larger leaves answer three right-hand sides sooner. `block_tridiagonal` takes the squared Laplacian
of linked cells, which ties too many of them for separators to be small, and adds one diagonal after another to it.
`conjugate_gradients` takes any positive definite operator, and is for what needs few digits or has too many unknowns.
"""
