"""What a `Child` runs: it computes what it is ordered to, until nobody can order any more.

Run as a script, with a folder, and where the package of Supple is and what it is called. It reads the numbers of orders
from its input, a line each, and ends with it: so it outlives no Blender.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType


def main(folder: Path, root: str, package: str) -> None:
    """Have Supple's modules found by their names, without registering anything, and compute order after order."""
    parts = package.split(".")
    for count in range(1, len(parts) + 1):
        module = ModuleType(".".join(parts[:count]))
        module.__path__ = [root] if count == len(parts) else []
        sys.modules[module.__name__] = module
    importlib.import_module(f"{package}.bridge.files.child").answer_orders(folder, sys.stdin)


if __name__ == "__main__":
    main(Path(sys.argv[-3]), sys.argv[-2], sys.argv[-1])
