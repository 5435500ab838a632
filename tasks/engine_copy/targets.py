"""What copies are made for, and how the files are called."""

TARGETS = {"gltf": "glTF", "fbx": "FBX", "vrm": "VRM", "usd": "USD"}

SUFFIXES = {"gltf": (".glb", ".gltf"), "fbx": (".fbx",), "usd": (".usda", ".usdc", ".usd")}
"""Endings of files by target; the first is the usual one."""
