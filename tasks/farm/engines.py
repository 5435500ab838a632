"""The engines of farms that jobs are written for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import flamenco, openjd
from .commands import FarmJob


@dataclass(frozen=True)
class Engine:
    """What runs a job.

    Attributes
    ----------
    label, tooltip : str
        For menus.
    describe : callable
        Gives the text of each file of a job by its name in the job's folder.
    submit : str
        How the job is given to the farm, from its folder.
    """

    label: str
    tooltip: str
    describe: Callable[[FarmJob], dict[str, str]]
    submit: str


ENGINES = {
    "openjd": Engine(
        "Open Job Description",
        "Job bundle, for AWS Deadline Cloud and openjd",
        openjd.describe,
        "To submit it, run 'deadline bundle submit' with that folder",
    ),
    "flamenco": Engine(
        "Flamenco",
        "Job type and job, for the Manager of Flamenco 3",
        flamenco.describe,
        "To submit it, copy supple-bake.js once into the folder 'scripts' of Flamenco Manager, and send job.json as "
        "'POST /api/v3/jobs'",
    ),
}
"""The engines by their words on the command line."""
