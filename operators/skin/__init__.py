"""How the skin is deformed: Bind, clothes that stay outside, points and cages."""

from . import bind, handles, layers

CLASSES = (
    bind.SUPPLE_OT_bind,
    bind.SUPPLE_OT_unbind,
    bind.SUPPLE_OT_make_independent,
    handles.SUPPLE_OT_handles_add,
    handles.SUPPLE_OT_handles_remove,
    layers.SUPPLE_OT_layers_add,
    layers.SUPPLE_OT_layers_limbs,
    layers.SUPPLE_OT_layers_mend,
    layers.SUPPLE_OT_layers_remove,
)
