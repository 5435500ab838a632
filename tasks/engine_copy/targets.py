"""Targets of copies, and the suffixes of their files."""

TARGETS = {"gltf": "glTF", "fbx": "FBX", "vrm": "VRM", "usd": "USD"}

# Endings of files by target; the first is the usual one
SUFFIXES = {"gltf": (".glb", ".gltf"), "fbx": (".fbx",), "usd": (".usda", ".usdc", ".usd")}
