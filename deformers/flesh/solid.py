"""Flesh as an elastic solid near joints, held by bones alone: pure functions, `bind` for joints and `solve` for a pose.

    body = read_body(points, triangles, weights, joints)    once for a character
    binding = bind(body, rest_to_pose)                      once for all poses of the same joints
    nodes, volumes = solve(binding, rest_to_pose)           a pose
    skin = deform(binding, nodes, base)                     base: the skin as the method in use poses it

Near the joints a lattice of tetrahedra fills the body. Each wants its shape and its volume; nodes near a bone are rigid
with it, those at a joint rotate by half. Weights decide only where nothing else does. Skin that comes together is kept
apart inside the solve. The results are the same for each run, for any order of vertices and for the whole character
moved or rotated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..algebra.nested_dissection import NestedDissectionFactor, factorize
from ..algebra.polar import move_rigidly
from ..algebra.rotations import scale_rotations
from ..errors import SkinningError
from ..geometry.vectors import measure_lengths, smooth_step, transform_points
from .body import Body
from .contact import Contact
from .elastic import Elasticity
from .lattice import Carried, Lattice, embed, fill_lattice

# Across the plane between both sides
MIRROR = np.array([-1.0, 1.0, 1.0])

# A bone counts if it has a weight above this somewhere.
MIN_HOLD = 0.3

# Cells from a bone to the skin for it to have a rigid core
MIN_CORE_DEPTH = 1.2

# Difference of a node's two largest weights from which on the bone holds it weakly
MIN_SURE = 0.93

# Cells from a bone up to which it holds all nodes, however thin the body is, so far from all joints that turn, in radii
THIN_CORE, FAR = 0.7, 1.8

# Radius of the ball that rotates by half at a joint just under the skin, in radii
SHALLOW_CONDYLE = 0.25

# Iterations between two searches for contacts, and of a step after which contacts stay: otherwise the skin flutters by
# .3 mm without end.
CONTACT_EVERY, LAST_CONTACT = 4, 40

# Iterations between two looks at how far the skin moves
LOOK_EVERY = 10

# The solution is found if in `LOOK_EVERY` iterations 99 % of the skin moves less than .1 mm on a body of 1.8 m.
MAX_MOVE, SETTLED = 0.1 / 1800.0, 0.99

NO_JOINT = "No joint rotates by more than 3 degrees: rotate the joints whose flesh is wanted"


@dataclass(frozen=True)
class Params:
    """Lengths are in radii of a joint, weights are against 1 for shape.

    Attributes
    ----------
    reach, fade : float
        Flesh is solved up to `reach` from the joints; the base takes over in the last share `fade` of it.
    fineness : float
        Cells in a radius: 3.6 to keep, 2.5 for a quick look.
    most_cells : int
        If there were more, cells are larger.
    core : float
        Radius of a bone's rigid core, as a share of its distance from the skin.
    condyle, hinge : float
        Radius of the ball about a joint that rotates by half: of any, and of elbows and knees, whose skin does not
        sink in on the outer side.
    hold, weak, volume, contact : float
        Weights of what bones hold, of nodes that follow one bone alone, of volume and of contact.
    steps, iterations : int
        Steps from rest to the pose, and iterations in each.
    least, most : int
        Iterations in the last step.
    radius : float
        Spectral radius of an iteration, for Chebyshev's acceleration.
    """

    reach: float = 5.0
    fade: float = 0.35
    fineness: float = 3.6
    most_cells: int = 11_000
    core: float = 0.38
    condyle: float = 0.5
    hinge: float = 0.8
    hold: float = 200.0
    weak: float = 0.6
    volume: float = 4.0
    contact: float = 0.2
    steps: int = 6
    iterations: int = 8
    least: int = 80
    most: int = 240
    radius: float = 0.98


@dataclass(frozen=True, eq=False)
class Binding:
    """What does not change as long as the same joints rotate.

    Attributes
    ----------
    anchor : int
        The bone above the joints: solutions are relative to it.
    share : float64 array, shape (N,)
        1 near the joints, 0 where the base begins.
    cores, condyles : int arrays, shape (N,)
        The bone whose core a node is in; the bone by half of whose rotation it rotates; -1 for none.
    springs : float64 array, shape (N,)
        Weights by which nodes are held to their goals.
    skin : Carried
        All points of the body.
    follows : float64 array, shape (P,)
        Share of the solid in each point's position; the rest is the base's.
    is_mirrored : bool
        Whether the body's mirror image is carried.
    factor : NestedDissectionFactor
        Of the constant matrix, shape (N, N), with 7 entries in a row.
    """

    body: Body
    params: Params
    anchor: int
    lattice: Lattice
    share: np.ndarray
    cores: np.ndarray
    condyles: np.ndarray
    springs: np.ndarray
    skin: Carried
    follows: np.ndarray
    contact: Contact
    factor: NestedDissectionFactor
    is_mirrored: bool = False

    @property
    def thin(self) -> np.ndarray:
        """Vertices that keep the base because they are in sheets thinner than a cell, bool array, shape (V,)."""
        return (self.skin.place(self.lattice.thin) > 1.0 - 1e-6)[self.body.vertices]


def bind(body: Body, rest_to_pose: np.ndarray, params: Params | None = None) -> Binding:
    """Prepare the flesh near the joints that a pose, shape (B, 4, 4), rotates.

    Raises
    ------
    SkinningError
        If it rotates no joint that moves skin.
    """
    params = params or Params()
    turned = body.find_turned_joints(rest_to_pose)
    if not len(turned):
        raise SkinningError(NO_JOINT)
    centers, radii, points = body.joints.centers[turned], body.radii[0][turned], body.points
    wide = np.maximum(radii, np.median(radii))
    skin = points[body.skin]
    near = (np.linalg.norm(skin[:, None] - centers, axis=2) < params.reach * wide).any(axis=1)
    if not near.any():
        raise SkinningError(NO_JOINT)
    room = 0.35 * np.prod(np.ptp(skin[near], axis=0))  # a body fills about a third of its box
    step = max(radii[radii > 0.5 * radii.max()].min() / params.fineness, np.cbrt(room / params.most_cells))
    lattice = fill_lattice(body, centers, params.reach * wide, step)
    away = (np.linalg.norm(lattice.nodes[:, None] - centers, axis=2) / wide).min(axis=1)
    share = smooth_step((params.reach - away) / (params.fade * params.reach)) * _find_thick(lattice)
    cores, condyles = _find_anchors(body, lattice, params, away > FAR)
    largest = np.sort(lattice.weights, axis=1)
    weak = params.weak * np.clip((largest[:, -1] - largest[:, -2] - MIN_SURE) / (1.0 - MIN_SURE), 0.0, 1.0)
    springs = np.where((cores >= 0) | (condyles >= 0) | (share == 0.0), params.hold, weak) + 1e-4

    carried = embed(body, lattice, points, body.bones)
    follows = np.clip(carried.place(share), 0.0, 1.0) * carried.trust
    contact = Contact(body, lattice, body.triangles[(follows > 0.0)[body.triangles].all(axis=1)], params.contact)
    stiffness = np.bincount(lattice.tetrahedra.ravel(), minlength=len(lattice.edges)) * (1.0 + params.volume) / 6.0
    diagonal = springs + contact.diagonal
    diagonal += np.bincount(lattice.edges.ravel(), np.repeat(stiffness, 2), len(springs))
    factor = factorize(lattice.nodes, lattice.edges, -stiffness, diagonal, precision=np.float32)
    anchor = int(body.joints.parents[turned[0]])
    return Binding(body, params, anchor, lattice, share, cores, condyles, springs, carried, follows, contact, factor)


def _find_thick(lattice: Lattice) -> np.ndarray:
    """0 at nodes in thin sheets, 1 two cells from them: float array, shape (N,)."""
    (lower, upper), thick = lattice.edges.T, (~lattice.thin).astype(float)
    counts = np.bincount(lattice.edges.ravel(), minlength=len(thick)) + 1.0
    for _ in range(2):
        sums = np.bincount(lower, thick[upper], len(thick)) + np.bincount(upper, thick[lower], len(thick))
        thick = np.where(lattice.thin, 0.0, (thick + sums) / counts)
    return thick


def _find_anchors(body: Body, lattice: Lattice, params: Params, is_far: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in rigid cores and in condyles, as in `Binding`; `is_far`: nodes far from all joints that turn, bool (N,).

    Bones are segments to the joint of each child, so that pelvis and shoulders are bones, or else to the tail.
    """
    nodes, samples = lattice.nodes, np.linspace(0.0, 1.0, 33)
    heads, tails, parents = body.joints.centers, body.tails, body.joints.parents
    radii, is_shallow = body.radii
    cores, condyles, nearness = np.full(len(nodes), -1), np.full(len(nodes), -1), np.ones(len(nodes))
    holds = body.weights[body.skin].max(axis=0) > MIN_HOLD
    for bone, start in enumerate(heads):
        children = (parents == bone) & body.used
        if not holds[bone] and not (children.any() and parents[bone] >= 0):
            continue
        ends = [end for end in heads[children] if np.linalg.norm(end - start) > 0.01 * radii[bone]]
        for end in ends or [tails[bone]]:
            line = start + samples[:, None] * (end - start)
            if not ((line > nodes.min(axis=0)) & (line < nodes.max(axis=0))).all(axis=1).any():
                continue
            along = np.clip((nodes - start) @ (end - start) / max((end - start) @ (end - start), 1e-12), 0.0, 1.0)
            depths = np.interp(along, samples, body.measure_depths(line))
            wide = np.where(is_far, np.maximum(params.core * depths, THIN_CORE * lattice.step), params.core * depths)
            ratios = measure_lengths(nodes - start - along[:, None] * (end - start)) / (wide + 1e-9)
            own = (ratios < nearness) & (is_far | (depths > MIN_CORE_DEPTH * lattice.step))
            cores[own], nearness[own] = bone, ratios[own]
    sizes = np.where(body.hinges, params.hinge, params.condyle)
    sizes = np.where(is_shallow, SHALLOW_CONDYLE, sizes) * radii
    for bone in np.flatnonzero(holds & (parents >= 0) & holds[parents] & (radii > MIN_CORE_DEPTH * lattice.step)):
        condyles[measure_lengths(nodes - heads[bone]) < sizes[bone]] = bone
    return np.where(condyles < 0, cores, -1), condyles


def _find_goals(binding: Binding, rest_to_pose: np.ndarray) -> np.ndarray:
    """Positions to which nodes are held, shape (N, 3): by core, condyle, or else by their weights."""
    body, nodes = binding.body, binding.lattice.nodes
    goals = np.zeros_like(nodes)
    weights = binding.lattice.weights
    for bone in np.flatnonzero(weights.any(axis=0)):
        goals += weights[:, bone, None] * transform_points(rest_to_pose[bone], nodes)
    for bone in np.unique(binding.cores[binding.cores >= 0]):
        own = binding.cores == bone
        goals[own] = transform_points(rest_to_pose[bone], nodes[own])
    for bone in np.unique(binding.condyles[binding.condyles >= 0]):
        own, head = binding.condyles == bone, body.joints.centers[bone]
        above = rest_to_pose[body.joints.parents[bone], :3, :3]
        half = above @ scale_rotations((above.T @ rest_to_pose[bone, :3, :3])[None], 0.5)[0]
        goals[own] = (nodes[own] - head) @ half.T + transform_points(rest_to_pose[bone], head[None])
    return goals


def solve(
    binding: Binding, rest_to_pose: np.ndarray, progress: Callable[[float], None] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the flesh in a pose.

    Parameters
    ----------
    rest_to_pose : float array, shape (B, 4, 4)
        Of rigid joints, armature space.
    progress : callable, optional
        Called with 0..1 between iterations; an exception that it raises ends the work.

    Returns
    -------
    nodes : float64 array, shape (N, 3)
        Posed nodes of the lattice.
    volumes : float32 array, shape (T,)
        Of tetrahedra against rest.

    Notes
    -----
    Bouaziz et al. 2014 (local-global; the constant matrix of Sorkine & Alexa 2007 on tetrahedra), with the
    semi-iteration of Wang 2015, eq 8. Unknown are the nodes' steps, which vanish: so the factor is in single precision.
    """
    params, nodes = binding.params, binding.lattice.nodes
    elasticity = Elasticity(binding.lattice.edges, binding.lattice.tetrahedra, binding.lattice.step, params.volume)
    space = rest_to_pose[binding.anchor]
    relative = np.linalg.inv(space) @ rest_to_pose
    seen = np.flatnonzero(binding.follows > 0.0)
    looked = replace(binding.skin, corners=binding.skin.corners[seen], shares=binding.skin.shares[seen])
    before, planned = _find_goals(binding, binding.body.scale_pose(relative, 0.0)), params.steps * params.iterations
    for step in range(1, params.steps + 1):
        goals = _find_goals(binding, binding.body.scale_pose(relative, step / params.steps))
        nodes, before = nodes + goals - before, goals
        pairs, last, weight, skin = binding.contact.find_near(nodes), nodes, 1.0, looked.place(nodes)
        contacts = binding.contact.find_contacts(nodes, pairs)
        for iteration in range(params.iterations if step < params.steps else params.most):
            if iteration and iteration % CONTACT_EVERY == 0 and iteration <= LAST_CONTACT:
                contacts = binding.contact.find_contacts(nodes, pairs)
            forces = elasticity.find_forces(nodes) + binding.contact.find_forces(nodes, contacts)
            forces += binding.springs[:, None] * (goals - nodes)
            if iteration >= 3:
                weight = 4.0 / (4.0 - params.radius**2 * weight) if iteration > 3 else 2.0 / (2.0 - params.radius**2)
            nodes, last = last + weight * (nodes + binding.factor.solve(forces) - last), nodes
            if progress is not None:
                done = (step - 1) * params.iterations + min(iteration, params.least)
                progress(done / (planned + params.least))
            if iteration % LOOK_EVERY == LOOK_EVERY - 1:
                skin, moved = (now := looked.place(nodes)), measure_lengths(now - skin)
                settled = np.quantile(moved, SETTLED) < MAX_MOVE * binding.body.height
                if step == params.steps and iteration + 1 >= params.least and settled:
                    break
    return transform_points(space, nodes), elasticity.volumes


def deform(binding: Binding, nodes: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Carry the skin, and what is worn on it, by posed nodes.

    Parameters
    ----------
    nodes : float array, shape (N, 3)
        From `solve`; for a mirrored binding, from the first side.
    base : float array, shape (V, 3)
        All vertices as the method in use poses them; far from the joints, and on thin sheets, they stay there.

    Returns
    -------
    float64 array, shape (V, 3)
        Rigid parts move by the best rigid motion (Kabsch 1976).
    """
    body, sides = binding.body, MIRROR if binding.is_mirrored else np.ones(3)
    vertices = body.vertices
    result = sides * base
    result += binding.follows[vertices, None] * (binding.skin.place(nodes)[vertices] - result)
    rest, parts = (sides * body.points)[vertices], body.rigid[vertices]
    order = np.argsort(parts, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(parts[order])) + 1):
        if parts[own[0]] >= 0 and (binding.follows[vertices[own]] > 0.0).any():
            result[own] = move_rigidly(rest[own], result[own])
    return sides * result


def mirror(binding: Binding, partners: np.ndarray) -> Binding:
    """The binding of the other side: the body's mirror image in the same lattice, so that both sides are one solution.

    Parameters
    ----------
    partners : int array, shape (B,)
        The bone on the other side of each; of a middle bone itself.

    Returns
    -------
    Binding
        For `deform` with nodes of the first side, and with the base in the mirrored pose (`mirror_pose`).
    """
    body = binding.body
    skin = embed(body, binding.lattice, body.points * MIRROR, body.weights[:, partners].argmax(axis=1))
    follows = np.clip(skin.place(binding.share), 0.0, 1.0) * skin.trust
    return replace(binding, skin=skin, follows=follows, is_mirrored=not binding.is_mirrored)


def mirror_pose(rest_to_pose: np.ndarray, partners: np.ndarray) -> np.ndarray:
    """The pose, shape (B, 4, 4), on the other side, for partners, shape (B,), as in `mirror`."""
    sides = np.append(MIRROR, 1.0)
    return sides[:, None] * rest_to_pose[partners] * sides
