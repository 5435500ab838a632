"""A contact sheet of a check: the worst joints in rows, methods in columns, colored by the stretch of the skin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...bridge.images.pictures import Page, new_page
from ...deformers.measures.heat import color_stretch, stretch_vertices
from ...deformers.measures.joint_faults import KINDS
from .faults import FAULTS, label_method
from .findings import rate
from .poses import CheckedPose
from .run import Checked, CheckedMesh

ROWS = 8
# Sizes on the sheet, in widths of a cell
COLUMN, ROW, LABEL, HEADER, CAPTION = 1.0, 1.0, 0.62, 0.22, 0.13
# Width of a cell
PIXELS = 240
# Radius of the view of a joint, in thicknesses of its limb
AROUND = 2.6


@dataclass(frozen=True)
class Row:
    """A joint in a pose, to be shown by each method."""

    mesh: CheckedMesh
    kind: str
    joint: int
    pose: CheckedPose


def choose_rows(checked: Checked, count: int = ROWS) -> list[Row]:
    """The joints that any method treats worst, each once; of both sides of a body the worse. `count`: most rows."""
    found: list[tuple[float, Row]] = []
    for one in checked.meshes:
        for method, extremes in one.extremes.items():
            for kind in KINDS:
                severities = rate(one, method, kind)
                found += [
                    (
                        float(severities[joint]),
                        Row(one, kind, joint, checked.poses[extremes.poses[kind][joint]]),
                    )
                    for joint in np.flatnonzero(np.isfinite(severities)).tolist()
                ]
    chosen: dict[str, Row] = {}
    for _, row in sorted(found, key=lambda entry: -entry[0]):
        side_less = checked.skeleton.name_joint(row.joint).lower().replace(".l", "").replace(".r", "")
        chosen.setdefault(side_less.removesuffix("_l").removesuffix("_r"), row)
        if len(chosen) == count:
            break
    return list(chosen.values())


def draw_sheet(checked: Checked, path: Path) -> None:
    """Render the sheet into a PNG file. Raises SkinningError if it cannot be rendered or written."""
    rows = choose_rows(checked)
    methods = list(dict.fromkeys(method for row in rows for method in row.mesh.extremes))
    with new_page() as page:
        for column, method in enumerate(methods):
            page.add_text(label_method(method), LABEL + (column + 0.5) * COLUMN, -0.5 * HEADER, 0.11)
        for number, row in enumerate(rows):
            top = -HEADER - number * (ROW + CAPTION)
            _label(page, checked, row, top)
            for column, method in enumerate(methods):
                if method in row.mesh.bound:
                    _draw_cell(page, row, method, LABEL + column * COLUMN, top)
        width, height = LABEL + len(methods) * COLUMN, HEADER + max(1, len(rows)) * (ROW + CAPTION)
        page.render(width, height, round(PIXELS * width), path)


def _label(page: Page, checked: Checked, row: Row, top: float) -> None:
    bone = checked.skeleton.name_joint(row.joint)
    lines = (bone, row.mesh.name, *row.pose.describe(bone).split(", "))
    for number, line in enumerate(lines):
        page.add_text(line[:22], 0.03, top - 0.32 - 0.11 * number, 0.085 if number == 0 else 0.062, "LEFT")


def _draw_cell(page: Page, row: Row, method: str, left: float, top: float) -> None:
    meter, joint = row.mesh.meter, row.joint
    posed = meter.place(row.mesh.deform(method, row.pose))
    center, frame, radius = _frame_joint(row, posed)
    triangles = meter.triangles[(np.linalg.norm(posed - center, axis=1) < 1.4 * radius)[meter.triangles].all(axis=1)]
    used, corners = np.unique(triangles, return_inverse=True)
    cell = (posed[used] - center) @ frame.T * (0.42 / radius)
    inside = np.all(np.abs(cell[:, :2]) < 0.49, axis=1)
    corners = corners.reshape(-1, 3)
    corners = corners[inside[corners].all(axis=1)]
    colors = color_stretch(stretch_vertices(meter.points, posed, meter.edges))[used]
    middle = np.array([left + 0.5 * COLUMN, top - 0.5 * ROW, 0.0])
    page.add_mesh(cell + middle, corners, colors)
    value = row.mesh.extremes[method].values[row.kind][joint]
    page.add_text(FAULTS[row.kind].words(value), left + 0.5 * COLUMN, top - ROW - 0.4 * CAPTION, 0.062)


def _frame_joint(row: Row, posed: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The posed joint, rows of axes to the right, up and to the eye, and the radius of the view.

    The parent's bone comes from above, and the axis that the joint rotates about looks to the eye.
    """
    joints, matrices = row.mesh.meter.joints, row.pose.rest_to_pose
    parent = max(int(joints.parents[row.joint]), 0)
    center = matrices[row.joint] @ np.append(joints.centers[row.joint], 1.0)
    down = matrices[parent][:3, :3] @ joints.axes[parent]
    down = down / max(float(np.linalg.norm(down)), 1e-12) if down.any() else np.array([0.0, 0.0, -1.0])
    turn = matrices[row.joint][:3, :3] @ np.linalg.pinv(matrices[parent][:3, :3])
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    eye = axis - (axis @ down) * down
    if np.linalg.norm(eye) < 0.2:  # it twists, or does not move
        eye = np.cross(down, np.eye(3)[np.argmin(np.abs(down))])
    eye = eye / np.linalg.norm(eye)
    frame = np.stack([np.cross(-down, eye), -down, eye])
    own = np.isin(row.mesh.meter.owners, [row.joint, parent])
    thickness = row.mesh.meter.thickness[[row.joint, parent]].max()
    spread = float(np.percentile(np.linalg.norm(posed[own] - center[:3], axis=1), 60)) if own.any() else thickness
    return center[:3], frame, float(np.clip(spread, 1.2 * thickness, AROUND * thickness))
