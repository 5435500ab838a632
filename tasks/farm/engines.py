"""The engines of farms that jobs are written for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import flamenco, openjd
from .commands import FarmJob


@dataclass(frozen=True)
class Engine:
    """A farm's engine, which runs jobs.

    Attributes
    ----------
    label, tooltip : str
        For menus.
    describe : callable
        Gives the text of each file of a job by its name in the job's folder.
    """

    label: str
    tooltip: str
    describe: Callable[[FarmJob], dict[str, str]]


# The engines by their words on the command line
ENGINES = {
    "openjd": Engine(
        "Open Job Description",
        "Job bundle, for AWS Deadline Cloud and openjd",
        openjd.describe,
    ),
    "flamenco": Engine(
        "Flamenco",
        "Job type and job, for the Manager of Flamenco 3",
        flamenco.describe,
    ),
}
