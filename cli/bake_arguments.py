"""What the commands of bakes take: `bake`, `join`, `apply` and `farm`."""

from __future__ import annotations

from typing import Any

from ..deformers import METHODS
from ..tasks.farm.commands import CHUNK
from ..tasks.farm.engines import ENGINES
from .options import add_choices, add_expect, add_file, add_frames, add_progress, read_path


def add_bake(commands: Any) -> None:
    baker = commands.add_parser("bake", help="bake the frames of characters")
    chosen = baker.add_mutually_exclusive_group()
    chosen.add_argument(
        "--object", action="append", metavar="NAME", help="mesh to bake; by default the only bound mesh"
    )
    chosen.add_argument(
        "--all", action="store_true", help="bake every bound mesh, and every mesh that --method can bind"
    )
    baker.add_argument(
        "--method", choices=tuple(METHODS), help="method to bind with first; by default the bound method"
    )
    add_frames(baker, "frames to bake")
    baker.add_argument(
        "--format", choices=("pc2", "shape-keys"), default="pc2", help="format of the bake; pc2 by default"
    )
    baker.add_argument(
        "--output",
        type=read_path,
        required=True,
        metavar="PATH",
        help="PC2 file to write; a folder for several meshes or frame ranges; the .blend file for shape keys",
    )
    baker.add_argument(
        "--save", type=read_path, metavar="NEW.blend", help="also save a .blend file that plays the PC2 files"
    )
    add_progress(baker)
    baker.add_argument(
        "--part",
        action="store_true",
        help="bake one of several parts to a folder unless it exists there; join the parts with supple join",
    )
    add_expect(baker)
    add_choices(baker)
    add_file(baker)


def add_join(commands: Any) -> None:
    joiner = commands.add_parser("join", help="join PC2 files of consecutive frames into one file")
    joiner.add_argument(
        "parts",
        type=read_path,
        nargs="+",
        metavar="PART.pc2",
        help="files to join, in frame order; or a folder of parts written by bake --part",
    )
    add_frames(joiner, "frames to join, required with a folder", "none")
    add_expect(joiner)
    add_progress(joiner)
    joiner.add_argument(
        "--output", type=read_path, required=True, metavar="PATH", help="PC2 file to write; from a folder, a folder"
    )


def add_apply(commands: Any) -> None:
    applier = commands.add_parser("apply", help="make a file play baked point caches, so that it does not need Supple")
    applier.add_argument(
        "--cache", type=read_path, required=True, metavar="FOLDER", help="folder of PC2 files with their JSON files"
    )
    applier.add_argument(
        "--object", action="append", metavar="NAME", help="mesh to play its cache; by default all meshes with a cache"
    )
    applier.add_argument("--output", type=read_path, required=True, metavar="NEW.blend", help="file to save")
    applier.add_argument(
        "--render-script",
        type=read_path,
        metavar="SCRIPT",
        help="also write a script that renders single frames of NEW.blend in Blender without Supple",
    )
    add_progress(applier)
    add_file(applier)


def add_farm(commands: Any) -> None:
    farmer = commands.add_parser("farm", help="write a job that bakes characters on a farm")
    chosen = farmer.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--object", action="append", metavar="NAME", help="mesh to bake; may be used several times")
    chosen.add_argument(
        "--all", action="store_true", help="bake every bound mesh, and every mesh that --method can bind"
    )
    farmer.add_argument(
        "--method", choices=tuple(METHODS), help="method to bind with first; by default the bound method"
    )
    add_frames(farmer, "frames to bake")
    farmer.add_argument(
        "--chunk", type=int, default=CHUNK, metavar="N", help=f"frames to bake at a time; {CHUNK} by default"
    )
    farmer.add_argument("--engine", choices=tuple(ENGINES), required=True, help="render farm manager that runs the job")
    farmer.add_argument("--render", action="store_true", help="also render the frames, from the bake")
    farmer.add_argument(
        "--no-task-chunking",
        action="store_true",
        help="with openjd: list the chunks in the job, for farms without the TASK_CHUNKING extension",
    )
    farmer.add_argument("--output", type=read_path, required=True, metavar="DIR", help="folder of the job")
    add_choices(farmer)
    add_file(farmer)
