"""Meshes as arrays: points, faces, vertex groups, attributes, copies."""
