"""Surface heat against dense algebra and numbers worked out by hand, and on surfaces that are not clean."""

import numpy as np
import pytest

from benchmarks.surfaces import make_box, make_capsule, revolve
from supple.deformers import SkinningError
from supple.deformers.automatic_weights.surface_heat import Params, find_inward, solve
from supple.deformers.geometry.mesh_laplacian import make_laplacian
from supple.deformers.geometry.solid import find_crossed, find_islands, read_surface

from .. import meshes
from ..cases import each
from ..meshes import Mesh, join

HEADS = np.array([[0.0, 0.0, 0.1], [0.0, 0.0, 1.0]])
TAILS = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.9]])
EXACT = Params(least=0.0)


def make_tube(length: float = 2.0, radius: float = 0.2, rings: int = 16, sides: int = 10) -> Mesh:
    return meshes.make_tube(radius, rings + 1, sides, length)


def split(mesh: Mesh) -> tuple[Mesh, np.ndarray]:
    points, triangles = mesh
    return (points[triangles.ravel()], np.arange(triangles.size).reshape(-1, 3)), triangles.ravel()


def make_dense_laplacian(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """L by the angles themselves, one triangle after the other."""
    matrix = np.zeros((len(points), len(points)))
    for triangle in triangles:
        for corner in range(3):
            a, b, c = (points[triangle[(corner + step) % 3]] for step in range(3))
            cosine = (b - a) @ (c - a) / np.linalg.norm(b - a) / np.linalg.norm(c - a)
            strength = 0.5 / np.tan(np.arccos(cosine))
            i, j = triangle[(corner + 1) % 3], triangle[(corner + 2) % 3]
            matrix[[i, j], [j, i]] -= strength
            matrix[[i, j], [i, j]] += strength
    return matrix


CAPSULE = make_capsule(2.0, 0.2, 0.08)


@each("mesh", [make_tube(), CAPSULE])
def test_weights_against_dense_algebra(mesh: Mesh):
    """(L + A H) w = A H p, all of it dense, with the distances of a straight axis."""
    points, triangles = mesh
    corners = points[triangles]
    thirds = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 6.0
    areas = np.bincount(triangles.ravel(), np.repeat(thirds, 3))
    beyond = points[:, 2] - np.clip(points[:, 2], 0.1, 1.9)
    heat = 4.0 * areas / (points[:, 0] ** 2 + points[:, 1] ** 2 + beyond**2)
    given = np.stack([points[:, 2] < 1.0 - 1e-9, points[:, 2] > 1.0 + 1e-9], axis=1).astype(float)
    given[given.sum(axis=1) == 0] = 0.5
    expected = np.linalg.solve(make_dense_laplacian(points, triangles) + np.diag(heat), heat[:, None] * given)
    found = solve(*mesh, HEADS, TAILS, params=Params(inward=False, least=0.0))
    np.testing.assert_allclose(found.weights, expected, atol=2e-5)
    assert found.reasons == ("", "")
    assert found.notes == ()


@each("heat", [1.0, 4.0])
def test_heat_fades_over_the_distance_from_the_bone(heat: float):
    """On a tube w'' = c (w - p) / r^2, p the step at the joint: past it 1 - exp(-sqrt(c) z / r) / 2."""
    points, triangles = make_tube(rings=80, sides=24)
    weights = solve(points, triangles, HEADS, TAILS, params=Params(heat=heat)).weights
    past = (points[:, 2] - 1.0) * np.sqrt(heat) / 0.2
    expected = np.where(past > 0.0, 1.0 - 0.5 * np.exp(-np.abs(past)), 0.5 * np.exp(-np.abs(past)))
    middle = np.abs(points[:, 2] - 1.0) < 0.6
    assert weights[middle, 1] == pytest.approx(expected[middle], abs=0.02)


def make_slivers() -> Mesh:
    """A tube with triangles without area, needles and caps: vertices moved next to their neighbors, and onto edges."""
    points, triangles = make_tube()
    points = points.copy()
    points[45] = points[46] + 1e-5 * (points[45] - points[46])
    points[72] = 0.5 * (points[71] + points[73])
    points[95] = points[85] + 1e-7
    return points, np.concatenate([triangles, [[20, 40, 30], [20, 20, 21]]])


UNCLEAN = {
    "slivers": make_slivers(),
    "noise": (make_tube()[0] + np.random.default_rng(1).normal(size=(170, 3)) * 0.03, make_tube()[1]),
    "three at an edge": (make_tube()[0], np.concatenate([make_tube()[1], [[50, 51, 90]]])),
    "points in a row": (
        np.stack([0 * np.arange(3), 0 * np.arange(3), np.arange(3)], axis=1) + 0.1,
        np.array([[0, 1, 2]]),
    ),
    "inside out": (CAPSULE[0], CAPSULE[1][:, ::-1]),
    "split": split(CAPSULE)[0],
    "loose vertex": (np.concatenate([make_tube()[0], [[0.5, 0.5, 1.7]]]), make_tube()[1]),
}


@each("mesh", UNCLEAN.values())
@each("scale", [1e-3, 1.0, 1e3])
def test_unclean_surfaces(mesh: Mesh, scale: float):
    """Every vertex has weights that sum to 1; in every unit and far from the origin they are the same."""
    weights = solve(*mesh, HEADS, TAILS).weights
    assert weights.dtype == np.float32
    assert weights.min() >= 0.0
    assert weights.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    offset = scale * np.array([3.0, -2.0, 5.0])
    moved = solve(mesh[0] * scale + offset, mesh[1], HEADS * scale + offset, TAILS * scale + offset)
    np.testing.assert_allclose(moved.weights, weights, atol=2e-3)


@each("mesh", UNCLEAN.values())
def test_laplacian_is_an_m_matrix(mesh: Mesh):
    points, triangles = mesh
    triangles = triangles[(triangles != np.roll(triangles, 1, axis=1)).all(axis=1)]
    laplacian = make_laplacian(points, triangles)
    assert (laplacian.strengths > 0).all()
    assert (laplacian.strengths < 1e3).all()
    assert (laplacian.areas > 0).all()
    assert (laplacian.edges[:, 0] < laplacian.edges[:, 1]).all()
    sums = np.bincount(laplacian.edges.ravel(), np.repeat(laplacian.strengths, 2), minlength=len(points))
    np.testing.assert_allclose(laplacian.diagonal, sums)


def test_laplacian_of_a_clean_surface():
    laplacian = make_laplacian(*CAPSULE)
    dense = np.diag(laplacian.diagonal)
    dense[tuple(laplacian.edges.T)] = dense[tuple(laplacian.edges.T[::-1])] = -laplacian.strengths
    np.testing.assert_allclose(dense, make_dense_laplacian(*CAPSULE), atol=2e-4)
    corners = CAPSULE[0][CAPSULE[1]]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    assert laplacian.areas.sum() == pytest.approx(area)


def test_split_vertices_have_the_same_weights():
    mesh, origin = split(CAPSULE)
    whole = solve(*CAPSULE, HEADS, TAILS).weights
    np.testing.assert_allclose(solve(*mesh, HEADS, TAILS).weights, whole[origin], atol=1e-6)
    nudged = mesh[0] + np.random.default_rng(2).uniform(-1e-8, 1e-8, mesh[0].shape)
    weights = solve(nudged, mesh[1], HEADS, TAILS).weights
    order = np.argsort(origin, kind="stable")
    same = origin[order][1:] == origin[order][:-1]
    np.testing.assert_array_equal(weights[order][1:][same], weights[order][:-1][same])


def never_crossed(points: np.ndarray, triangles: np.ndarray):
    return lambda starts, ends: np.zeros(len(starts), bool)


def test_skin_hides_bones():
    """Two legs of one body with a narrow gap: the other leg's bone is nearer to the inside of a leg, but not seen."""
    points, triangles = join(
        *((mesh[0] + offset, mesh[1]) for mesh, offset in (
            (make_box((0.3, 0.3, 1.0), 0.1), [-0.35, 0, -0.65]),
            (make_box((0.3, 0.3, 1.0), 0.1), [0.05, 0, -0.65]),
            (make_box((0.7, 0.3, 0.3), 0.1), [-0.15, 0, 0]),
        ))
    )  # fmt: skip
    heads, tails = np.array([[-0.45, 0, -0.2], [-0.08, 0, -0.2]]), np.array([[-0.45, 0, -1.1], [-0.08, 0, -1.1]])
    inner = np.flatnonzero((np.abs(points[:, 0] + 0.2) < 1e-6) & (points[:, 2] < -0.5))
    asked = []

    def make_crossing_test(points: np.ndarray, triangles: np.ndarray):
        surface = read_surface(points, triangles)
        asked.append(len(triangles))
        return lambda starts, ends: find_crossed(surface, starts, ends)

    outward = Params(inward=False)
    found = solve(points, triangles, heads, tails, make_crossing_test=make_crossing_test, params=outward).weights
    assert asked == [len(triangles)]
    assert found[inner, 0].min() > 0.95
    np.testing.assert_array_equal(solve(points, triangles, heads, tails, params=outward).weights, found)
    assert (
        solve(points, triangles, heads, tails, make_crossing_test=never_crossed, params=outward).weights[inner, 0].max()
        < 0.5
    )


def test_lines_of_sight_end_before_the_bone():
    """A bone may lie on the skin, and a vertex is part of it: neither hides the bone."""
    points, triangles = make_tube()

    def make_crossing_test(points: np.ndarray, triangles: np.ndarray):
        radius = np.hypot(*points[:, :2].T).max()

        def find_crossed(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
            at_skin, at_bone = np.hypot(*starts[:, :2].T), np.hypot(*ends[:, :2].T)
            return (at_skin > radius * (1.0 - 1e-6)) | (at_bone < radius * 1e-6)

        return find_crossed

    assert solve(points, triangles, HEADS, TAILS, make_crossing_test=make_crossing_test).notes == ()


def test_other_islands_hide_nothing():
    """A sleeve around an arm has the weights that it has alone."""
    sleeve = make_tube(1.6, 0.3, 12, 12)
    sleeve = sleeve[0] + [0.0, 0.0, 0.2], sleeve[1]
    both = solve(*join(CAPSULE, sleeve), HEADS, TAILS).weights
    np.testing.assert_allclose(both[len(CAPSULE[0]) :], solve(*sleeve, HEADS, TAILS).weights, atol=1e-5)
    np.testing.assert_allclose(both[: len(CAPSULE[0])], solve(*CAPSULE, HEADS, TAILS).weights, atol=1e-5)


def test_bones_behind_the_skin_count_as_farther():
    """A bone outside, near the skin, against one inside that is twice as far; without `inward` it wins."""
    heads, tails = np.array([[0, 0, 0.2], [0.3, 0, 0.2]]), np.array([[0, 0, 1.8], [0.3, 0, 1.8]])
    facing = np.flatnonzero((CAPSULE[0][:, 0] > 0.19) & (np.abs(CAPSULE[0][:, 2] - 1.0) < 0.6))
    assert solve(*CAPSULE, heads, tails).weights[facing, 0].min() > 0.99
    assert solve(*CAPSULE, heads, tails, params=Params(inward=False)).weights[facing, 1].min() > 0.5
    assert solve(CAPSULE[0], CAPSULE[1][:, ::-1], heads, tails).weights[facing, 0].min() > 0.99


BEND = np.linspace(0.0, np.pi, 13)
BALL = revolve(np.sin(BEND) * (np.arange(13) % 12 > 0), -np.cos(BEND), 24)
CUP = BALL[0], BALL[1][(BALL[0][BALL[1]][:, :, 2] < 0.01).all(axis=1)]


@each(
    ("mesh", "across", "share"),
    [
        (BALL, [1, 1, 1], 1.0),
        ((BALL[0], BALL[1][:, ::-1]), [1, 1, 1], 1.0),
        (make_tube(), [1, 1, 0], 1.0),
        (CUP, [1, 1, 1], 0.0),
        (join(BALL, (CUP[0] * 3.0, CUP[1])), [1, 1, 1], None),
    ],
)
def test_inner_sides(mesh: Mesh, across: list[int], share: float | None):
    """Normals point inward on what holds something, and there are none on a cup."""
    islands = find_islands(np.concatenate([mesh[1][:, :2], mesh[1][:, 1:]]), len(mesh[0]))
    inward = find_inward(*mesh, islands)
    inner = np.linalg.norm(inward, axis=1) > 0.5
    expected = np.arange(len(mesh[0])) < len(BALL[0]) if share is None else np.full(len(mesh[0]), share == 1.0)
    np.testing.assert_array_equal(inner, expected)
    assert (np.einsum("vi,vi->v", inward, mesh[0] * across)[inner] < 0).all()


def test_islands_that_see_no_bone():
    """An island around which all is hidden takes other weights, at split vertices too; the others are as without it."""
    tube = make_tube()
    far = make_tube(1.0, 0.1, 8, 6)
    points, triangles = join(tube, (far[0] + [4.0, 0.0, 0.0], far[1]))
    is_far = points[:, 0] > 2.0

    def make_crossing_test(points: np.ndarray, triangles: np.ndarray):
        return lambda starts, ends: np.full(len(starts), (starts[:, 0] > 0.2).any())

    fallback = np.random.default_rng(4).uniform(size=(len(points), 2)).astype(np.float32)
    found = solve(points, triangles, HEADS, TAILS, make_crossing_test=make_crossing_test, fallback=fallback)
    np.testing.assert_array_equal(found.weights[is_far], fallback[is_far])
    assert found.notes == ("1 island (54 vertices) sees no bone: weighted by Solid Heat",)
    bare = solve(points, triangles, HEADS, TAILS, make_crossing_test=make_crossing_test)
    assert not bare.weights[is_far].any()
    assert bare.notes == ("1 island (54 vertices) sees no bone: not weighted, try Solid Heat",)
    alone = solve(*tube, HEADS, TAILS, params=EXACT).weights
    whole = solve(points, triangles, HEADS, TAILS, make_crossing_test=make_crossing_test, params=EXACT).weights
    np.testing.assert_allclose(whole[~is_far], alone, atol=1e-5)


def test_vertices_that_see_no_bone_get_heat_from_their_neighbors():
    """All below a height over the joint are blind: there the second bone's heat alone arrives."""
    points, triangles = make_tube()

    def make_crossing_test(points: np.ndarray, triangles: np.ndarray):
        joint = points[:, 2].mean()
        return lambda starts, ends: starts[:, 2] < joint + 0.1

    found = solve(points, triangles, HEADS, TAILS, make_crossing_test=make_crossing_test, params=EXACT)
    assert found.weights[points[:, 2] < 0.5, 1].min() > 0.999
    assert found.notes == ()


def test_bones_as_near_share_and_bones_that_get_nothing_are_told():
    heads = np.concatenate([HEADS, HEADS[1:], [[0.0, 0.0, 9.0]], [[0.0, 0.0, 0.1]]])
    tails = np.concatenate([TAILS, TAILS[1:], [[0.0, 0.0, 9.5]], [[0.0, 0.0, 0.1]]])
    found = solve(*make_tube(), heads, tails)
    np.testing.assert_allclose(found.weights[:, 1], found.weights[:, 2], atol=1e-6)
    assert found.reasons[:3] == ("", "", "")
    assert "another bone is closer" in found.reasons[3]
    assert found.reasons[4] == ""  # the point shares what is nearest to the first bone's head
    low = make_tube()[0][:, 2] == 0.0
    assert found.weights[low, 4].min() > 0.2


@each(
    ("change", "message"),
    [
        (lambda p, t, h: (p, t[:0], h), "has no faces for heat"),
        (lambda p, t, h: (p, t, h[:0]), "No bone deforms"),
        (
            lambda p, t, h: (np.where(np.arange(len(p))[:, None] < 2, np.nan, p), t, h),
            "2 vertices have positions that are not numbers",
        ),
        (lambda p, t, h: (p, t, h * np.inf), "bones have positions that are not numbers"),
    ],
)
def test_bad_input(change, message: str):
    with np.errstate(invalid="ignore"):
        points, triangles, heads = change(*make_tube(), HEADS)
    with pytest.raises(SkinningError, match=message):
        solve(points, triangles, heads, heads)


def test_progress_rises_and_may_stop_the_work():
    shares: list[float] = []
    solve(*make_tube(), HEADS, TAILS, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0

    def stop(share: float) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        solve(*make_tube(), HEADS, TAILS, progress=stop)


def test_real_character(asset):
    """No vertex is left out, and those at one place are alike: the mesh is split at all edges, as glTF's may be."""
    data = np.load(asset("human", ".npz"))
    deform = data["bone_deform"]
    _, weld = np.unique(data["V"][data["tris"].ravel()], axis=0, return_inverse=True)
    points, triangles = data["V"][data["tris"].ravel()].astype(float), np.arange(data["tris"].size).reshape(-1, 3)
    found = solve(points, triangles, data["bone_head"][deform], data["bone_tail"][deform])
    assert found.weights.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    _, place = np.unique(weld, return_index=True)
    np.testing.assert_array_equal(found.weights, found.weights[place][weld.ravel()])
