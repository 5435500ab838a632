"""The inputs of a bake: the file with all that it reads, Supple, and Blender. Parts of one bake share them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...deformers import SkinningError

DESCRIBED = re.compile(r"supple=([\w.+-]+),blender=(\d+\.\d+),file=([0-9a-f]{64})")


@dataclass(frozen=True)
class Inputs:
    """The inputs of a bake.

    Attributes
    ----------
    supple, blender : str
        Versions: "0.1.0", "5.2".
    file : str
        Digest of the .blend file and of all that it reads, 64 hexadecimal digits. It does not depend on the paths.
    missing : tuple of str
        Caches that the file reads, but that are not on this machine.
    """

    supple: str
    blender: str
    file: str
    missing: tuple[str, ...] = field(default=(), compare=False)

    def describe(self) -> str:
        """One word, as `--expect` takes it."""
        return f"supple={self.supple},blender={self.blender},file={self.file}"

    @classmethod
    def parse(cls, text: str) -> Inputs:
        """What `describe` has written; raises SkinningError for anything else."""
        match = DESCRIBED.fullmatch(text)
        if match is None:
            raise SkinningError(f"'{text}' does not list the versions and files of a job: copy it from the job")
        supple, blender, file = match.groups()
        return cls(supple, blender, file)

    def check(self, expected: Inputs) -> None:
        """Raise SkinningError if this machine has other inputs than a job was made with, naming all that differs."""
        differs: list[str] = []
        remedies: list[str] = []
        versions = ("Supple", self.supple, expected.supple), ("Blender", self.blender, expected.blender)
        for name, here, there in versions:
            if here != there:
                differs.append(f"{name} {here} instead of {there}")
                remedies = ["install the same versions on all machines"]
        if self.file != expected.file:
            differs.append("another state of the file, or of a library or cache used by it")
            differs += [f"'{path}' missing" for path in self.missing]
            remedies.append("check that this machine sees the same files")
        if differs:
            raise SkinningError(
                f"The job was made with other versions or files ({', '.join(differs)}): {' and '.join(remedies)}, or "
                "make the job again"
            )
