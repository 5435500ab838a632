"""Positions of a group's nodes in the editor, so that the group can be read."""

from __future__ import annotations

from typing import Any

# Sizes of the layout: width of a column, between frames, of a socket, of a node without its sockets, of all frames
COLUMN, GAP, ROW, HEAD, PAGE = 190, 60, 22, 120, 3600


def lay_out(tree: Any, sources: dict[str, list[str]]) -> None:
    """Put the frames side by side, in the order they were made, and further down when there are too many for a line.

    In each frame, nodes stand to the right of their inputs.

    Parameters
    ----------
    sources : dict of str to list of str
        By name of a node, the names of the nodes that it is linked from.
    """
    members: dict[str, list[Any]] = {"": []}
    ends = []
    for node in tree.nodes:
        if node.bl_idname in ("NodeGroupInput", "NodeGroupOutput") and node.parent is None:
            ends.append(node)
        elif node.bl_idname == "NodeFrame":
            members[node.name] = []
        else:
            members[node.parent.name if node.parent else ""].append(node)
    x = y = lowest = 0.0
    corners: dict[str, tuple[float, float]] = {}
    for nodes in members.values():
        if nodes and x > PAGE:
            x, y = 0.0, lowest - 3 * GAP
        right, bottom = _lay_out_frame(nodes, sources, (x, y), corners)
        x, lowest = right, min(lowest, bottom)
    for node in ends:
        corners[node.name] = (-COLUMN - GAP, 0.0) if node.bl_idname == "NodeGroupInput" else (x, y)
    # All at once: setting one node's location has Blender look at the whole tree.
    tree.nodes.foreach_set("select", [False] * len(tree.nodes))
    tree.nodes.foreach_set("location", [axis for node in tree.nodes for axis in corners.get(node.name, (0.0, 0.0))])


def _lay_out_frame(
    nodes: list[Any],
    sources: dict[str, list[str]],
    corner: tuple[float, float],
    corners: dict[str, tuple[float, float]],
) -> tuple[float, float]:
    """Set the corners of the nodes of one frame relative to its own; returns its right and lower end."""
    columns: dict[str, int] = {}
    names = {node.name for node in nodes}

    def column_of(name: str) -> int:
        if name not in columns:
            columns[name] = 0  # ends the circle that a repeat zone is
            columns[name] = max(
                (column_of(source) + 1 for source in sources.get(name, ()) if source in names), default=0
            )
        return columns[name]

    by_column: dict[int, list[Any]] = {}
    for node in nodes:
        by_column.setdefault(column_of(node.name), []).append(node)
    x, lowest = corner
    for _, stacked in sorted(by_column.items()):
        y = corner[1]
        for node in stacked:
            corners[node.name] = (x, y)
            y -= HEAD + ROW * sum(socket.enabled and not socket.hide for socket in (*node.inputs, *node.outputs))
        x, lowest = x + max(node.width for node in stacked) + GAP, min(lowest, y)
    return x + GAP if nodes else x, lowest
