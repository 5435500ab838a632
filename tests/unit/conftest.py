"""Unit tests run without Blender, even in an environment that has it: an import of bpy fails here.

So they run in a process of their own, apart from tests/blender.
"""

import sys

from hypothesis import Phase, settings

for name in ("bpy", "mathutils"):
    if name not in sys.modules:
        sys.modules[name] = None

# The same few examples in each run, whatever the machine: a test fails for a change, never by chance. The phase that
# explains a failure takes minutes.
PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=8, phases=PHASES)
settings.load_profile("repeatable")
