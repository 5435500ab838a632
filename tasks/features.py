"""All features, in the order in which they stand on each other."""

from .handles.add import HANDLES
from .layers.add import LAYERS
from .swing.add import SWING

FEATURES = (HANDLES, LAYERS, SWING)
