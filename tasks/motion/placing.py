"""Move a whole motion by its topmost nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...bridge.animation.channels import OBJECT, BoneRest, Matrices
from ...deformers.motion.blending import Clip
from .layout import Layout


@dataclass(frozen=True, eq=False)
class Carriers:
    """The nodes that carry a motion.

    Attributes
    ----------
    nodes : int array, shape (n,)
        Among those of the layout.
    spaces : float array, shape (n, 4, 4)
        From the space of each node's channels to world space.
    hinged : int array, shape (m,)
        Nodes below them whose rotation is not that of their parent.
    axes : float array, shape (m, 4, 4)
        As `spaces`, for their rotations alone.
    """

    nodes: np.ndarray
    spaces: np.ndarray
    hinged: np.ndarray
    axes: np.ndarray

    def move(self, clip: Clip, transforms: np.ndarray) -> Clip:
        """A clip moved in world space, by a transform of shape (4, 4), or by one a frame, (F, 4, 4)."""
        inner = _change_space(transforms, self.spaces)
        moved = clip.moved(self.nodes, inner)
        return moved.turned(self.hinged, _change_space(transforms, self.axes)[..., :3, :3])


def _change_space(transforms: np.ndarray, spaces: np.ndarray) -> np.ndarray:
    """Rigid transforms of world space in other spaces, shape (..., n, 4, 4)."""
    inner = np.linalg.pinv(spaces) @ transforms[..., None, :, :] @ spaces
    left, _, right = np.linalg.svd(inner[..., :3, :3])
    inner[..., :3, :3] = left @ right
    return inner


def find_spaces(layout: Layout, rest: BoneRest, names: Sequence[str], matrices: Matrices) -> Carriers:
    """The parent spaces, in the first frame, of the nodes that carry a motion; nothing above them moves."""
    spaces = []
    for name in names:
        if name == OBJECT:
            spaces.append(matrices.world[0] @ np.linalg.pinv(matrices.own[0]))
        else:
            bone = rest.names.index(name)
            spaces.append(_find_space(matrices, bone))
    hinged = [bone for bone in np.flatnonzero(rest.is_hinged) if rest.names[bone] not in names and OBJECT not in names]
    axes = [_find_space(matrices, bone) for bone in hinged]
    return Carriers(
        layout.index(names),
        np.array(spaces).reshape(-1, 4, 4),
        layout.index(rest.names[bone] for bone in hinged),
        np.array(axes).reshape(-1, 4, 4),
    )


def _find_space(matrices: Matrices, bone: int) -> np.ndarray:
    """From a bone's channels to world space, in the first frame, shape (4, 4)."""
    return matrices.world[0] @ matrices.pose[0, bone] @ np.linalg.pinv(matrices.basis[0, bone])
