"""Makes ``from supple.deformers import ...`` work without Blender, whatever the folder of the checkout is called."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT.parent / "shared" / "assets"  # real characters; not part of the product


def load_package() -> None:
    spec = importlib.util.spec_from_file_location(
        "supple", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["supple"] = package
    spec.loader.exec_module(package)


load_package()


@pytest.fixture
def asset() -> Callable[..., Path]:
    """Return the path of a real character's file: ``asset("mh_human")``, or ``asset("mh_human", ".npz")``."""

    def path_of(name: str, suffix: str = ".blend") -> Path:
        path = ASSETS / name / f"{name}{suffix}"
        if not path.is_file():
            pytest.skip(f"the real character {path.name} is not in {ASSETS}, which is not part of the repository")
        return path

    return path_of
