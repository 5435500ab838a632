"""A job for a farm, and the commands of its steps, which are the same for each engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...bridge.files import render_frames

# Script with which a Blender without Supple renders a chunk of frames
RENDER_SCRIPT = Path(render_frames.__file__)

# Frames of a chunk, if not chosen: enough that opening a file costs little beside them
CHUNK = 50


@dataclass(frozen=True)
class FarmJob:
    """A bake of the open file, cut into chunks.

    Attributes
    ----------
    file : Path
        The .blend file as it is on the disk.
    objects : tuple of str
        Names of the meshes to bake; empty for all.
    frames : tuple of range
        As `parse_frames` gives them.
    chunk : int
        Most frames that are baked, or rendered, at a time.
    choices : tuple of str
        Further arguments of `supple bake`, such as "--method", "DLBNT".
    output : Path
        The folder of the job, which takes its description and all that it makes.
    render : bool
        Whether frames are rendered after the bake.
    task_chunking : bool
        Whether an engine may cut the frames by itself, so that whoever submits the job can change them.
    runs_python : bool
        Whether workers run Python of the file, such as drivers, even if this Blender was not told to.
    expect : str
        Inputs that each worker must have, from `Inputs.describe`; `write_job` fills it in.
    assets : tuple of str
        Files that the file reads, as `find_assets` finds them; `write_job` fills them in.
    """

    file: Path
    objects: tuple[str, ...]
    frames: tuple[range, ...]
    chunk: int
    choices: tuple[str, ...]
    output: Path
    render: bool = False
    task_chunking: bool = True
    runs_python: bool = False
    expect: str = ""
    assets: tuple[str, ...] = ()

    @property
    def switch(self) -> str:
        """Option that tells a worker's Blender whether to run Python of the file, whatever its preferences are."""
        return "--enable-autoexec" if self.runs_python else "--disable-autoexec"

    @property
    def baked_name(self) -> str:
        """Name of the .blend file that plays the caches, in the folder of the job."""
        return f"{self.file.stem}_baked.blend"

    @property
    def chosen(self) -> list[str]:
        """Arguments of `supple bake` for the objects and the choices."""
        return [*(f"--object={name}" for name in self.objects), *(() if self.objects else ("--all",)), *self.choices]
