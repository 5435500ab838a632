"""The script of a `Child`: it computes ordered functions until its input ends.

Run as a script, with a folder, and the path and name of Supple's package. It reads the numbers of orders from its
input, a line each, and ends with it, however busy it is, so it never outlives its Blender.
"""

import importlib
import os
import queue
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import bpy


def main(folder: Path, root: str, package: str) -> None:
    """Have Supple's modules found by their names, without registering anything, and compute order after order."""
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    parts = package.split(".")
    for count in range(1, len(parts) + 1):
        module = ModuleType(".".join(parts[:count]))
        module.__path__ = [root] if count == len(parts) else []
        sys.modules[module.__name__] = module
    importlib.import_module(f"{package}.bridge.files.child").answer_orders(folder, list_orders())


def list_orders() -> Iterator[str]:
    """Lines of the input, as they come; at its end the process ends."""
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            orders.put(line)
        with suppress(OSError):
            Path(bpy.app.tempdir).rmdir()  # which Blender does where it ends by itself
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield orders.get()


if __name__ == "__main__":
    main(Path(sys.argv[-3]), sys.argv[-2], sys.argv[-1])
