"""The deformers once more, as Geometry Nodes: what a file needs to deform its characters without Supple."""
