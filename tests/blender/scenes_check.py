"""Characters with faults that a check finds."""

import bpy
import numpy as np

from scenes import add_tube, animate_tube, update
from supple.tasks.check.faults import FAR, UNWEIGHTED


def add_sleeve():
    """A tube of three bones, animated, in a sleeve that follows it."""
    body, armature = add_tube(rings=31, sides=12)
    animate_tube(armature)
    sleeve = body.copy()
    sleeve.data = body.data.copy()
    sleeve.name = "Sleeve"
    bpy.context.scene.collection.objects.link(sleeve)
    for vertex in sleeve.data.vertices:
        vertex.co.x, vertex.co.z = 1.05 * vertex.co.x, 1.05 * vertex.co.z
    update()
    return body, sleeve


def stiffen(sleeve):
    """Weights of the sleeve that do not bend with the body."""
    first, *others = sleeve.vertex_groups
    vertices = list(range(len(sleeve.data.vertices)))
    first.add(vertices, 1.0, "REPLACE")
    for group in others:
        group.remove(vertices)


def spoil(tube, kind: str, start: int = 30) -> set[int]:
    """Plant a mistake into weights; the vertices that have it, if they are few."""
    points = np.array([vertex.co for vertex in tube.data.vertices])
    first, last = tube.vertex_groups[0], tube.vertex_groups[-1]
    along = int(np.ptp(points, axis=0).argmax())
    order = np.argsort(points[:, along])
    if kind == UNWEIGHTED:
        chosen = order[:3].tolist()
        for group in tube.vertex_groups:
            group.remove(chosen)
    elif kind == FAR:
        chosen = [int(order[start])]
        first.remove(chosen)
        last.add(chosen, 1.0, "REPLACE")
    else:
        for vertex in tube.data.vertices:
            most = max(vertex.groups, key=lambda entry: entry.weight).group
            for group in tube.vertex_groups:
                group.add([vertex.index], float(group.index == most), "REPLACE")
        return set()
    return set(chosen)
