"""Findings of a check between meshes: pierced layers, and limbs that intersect."""

from __future__ import annotations

from collections.abc import Iterator

from .faults import CROSSED, FAULTS, PIERCED, PIERCED_AT_REST, Finding
from .run import Checked

# A bone's skin must be inside another limb by this share to count as a fault
LEAST_CROSSED = 0.05


def describe_layers(checked: Checked) -> Iterator[Finding]:
    """Layers that another mesh pierces."""
    for layer in checked.contacts.layers:
        mesh, found = checked.meshes[layer.above], layer.pierced
        kind = PIERCED_AT_REST if layer.pose is None else PIERCED
        if (severity := found.share / FAULTS[kind].limit) >= 1.0:
            yield Finding(
                kind,
                mesh.name,
                "",
                mesh.method,
                severity,
                found.share,
                vertices=tuple(found.vertices.tolist()),
                pose=None if layer.pose is None else checked.poses[layer.pose],
                other=checked.meshes[layer.below].name,
                depth=found.depth * checked.millimeters,
                seen=layer.seen,
            )


def describe_crossings(checked: Checked) -> Iterator[Finding]:
    """Limbs that run into each other."""
    for one in checked.contacts.crossings:
        mesh, found = checked.meshes[one.mesh], one.crossing
        severity = min(found.depth / checked.contacts.unit / FAULTS[CROSSED].limit, found.share / LEAST_CROSSED)
        if severity >= 1.0:
            yield Finding(
                CROSSED,
                mesh.name,
                checked.skeleton.name_joint(found.joint),
                mesh.method,
                severity,
                found.share,
                vertices=tuple(found.vertices.tolist()),
                pose=checked.poses[one.pose],
                other=checked.skeleton.name_joint(found.other),
                depth=found.depth * checked.millimeters,
            )
