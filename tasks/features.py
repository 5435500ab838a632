"""All features, in the order in which they stand on each other: what all the others deform, the skin, comes first."""

from .engine_copy.run import ENGINE_COPY
from .flesh.add import CORRECTIONS
from .handles.add import HANDLES
from .layers.add import LAYERS
from .patterns.follow import PATTERNS
from .skin.baked import BAKES
from .skin.live import SKIN
from .swing.add import SWING

FEATURES = (SKIN, HANDLES, CORRECTIONS, PATTERNS, SWING, LAYERS, BAKES, ENGINE_COPY)
