"""Unit tests run without Blender, even in an environment that has it: an import of bpy fails here.

So they run in a process of their own, apart from tests/blender.
"""

import sys

for name in ("bpy", "mathutils"):
    if name not in sys.modules:
        sys.modules[name] = None
