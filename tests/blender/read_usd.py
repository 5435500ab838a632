"""What Pixar's own library makes of a USD file, as a script: python read_usd.py FILE.usda OUT.npz.

It runs in a Python that has pxr, and no Blender: two copies of the library do not go together.
"""

import sys

import numpy as np
from pxr import Usd, UsdGeom, UsdSkel


def read(path: str) -> dict[str, np.ndarray]:
    """World positions of all skinned vertices in each frame, (F, V, 3); values of keys, (F, K); names and method."""
    stage = Usd.Stage.Open(path)
    root = next(UsdSkel.Root(prim) for prim in stage.Traverse() if prim.IsA(UsdSkel.Root))
    cache = UsdSkel.Cache()
    cache.Populate(root, Usd.PrimDefaultPredicate)
    (binding,) = cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate)
    skeleton = cache.GetSkelQuery(binding.GetSkeleton())
    animation = skeleton.GetAnimQuery()
    frames = np.arange(stage.GetStartTimeCode(), stage.GetEndTimeCode() + 1)
    found, keys, methods = [], [], []
    for frame in frames:
        transforms = skeleton.ComputeSkinningTransforms(frame)
        rows = []
        for query in binding.GetSkinningTargets():
            mesh = UsdGeom.Mesh(query.GetPrim())
            points = mesh.GetPointsAttr().Get(frame)
            assert query.ComputeSkinnedPoints(transforms, points, frame)
            own = np.array(
                skeleton.GetPrim() and UsdGeom.Xformable(skeleton.GetPrim()).ComputeLocalToWorldTransform(frame)
            )
            rows.append(np.array(points, float) @ own[:3, :3] + own[3, :3])
            methods.append(query.GetSkinningMethod())
        found.append(np.concatenate(rows))
        keys.append(np.array(animation.ComputeBlendShapeWeights(frame), float))
    return {
        "points": np.array(found),
        "keys": np.array(keys),
        "names": np.array(animation.GetBlendShapeOrder(), str),
        "methods": np.array(methods, str),
    }


if __name__ == "__main__":
    np.savez(sys.argv[2], **read(sys.argv[1]))
