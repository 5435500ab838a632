"""Takes features through their stages (`feature.Feature`): installs, follows, notices, removes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import GeneratorType
from typing import Any

from ...bridge.changes import Changes
from ..steps import Steps
from .feature import Feature, PlannedFeature, Subject
from .reads import Reads

# Notices that were found, by the keys of features
_notices: dict[str, Reads[str]] = {}


def install(feature: PlannedFeature, subject: Subject, *options: Any) -> Steps[Any]:
    """Give a character a feature, in place of what it has of it; returns the report of `feature.write`.

    Raises SkinningError if something does not fit. Nothing is changed then.

    Parameters
    ----------
    *options
        As `feature.read` takes them.
    """
    source = yield from _run(feature.read(subject, *options))
    plan = yield from _run(feature.plan(source))
    report = yield from _run(feature.write(subject, plan))
    forget_notices(feature)
    return report


def _run(stage: Any) -> Steps[Any]:
    """The steps of a stage, or its result at once if it has none."""
    return (yield from stage) if isinstance(stage, GeneratorType) else stage


def remove(feature: Feature, subject: Subject, names: Sequence[str] = ()) -> list[str]:
    """Take a feature off a character, or off bones or meshes of these names; returns sentences."""
    lines = feature.remove(subject, names)
    forget_notices(feature)
    return lines


def follow(features: Iterable[Feature], changes: Changes) -> None:
    """Bring live features up to date with what has changed, in the order given, and look at the others again later."""
    for feature in features:
        if feature.follow is not None:
            feature.follow(changes)
        if feature.key in _notices and not (changes.is_frame or changes.is_render):
            _notices[feature.key].drop(data for data, _ in changes.updates)


def find_notice(feature: Feature, subject: Subject) -> str:
    """What no longer fits of a feature, and what to press; "" if all fits. Quick enough for a panel to draw."""
    known = _notices.setdefault(feature.key, Reads())
    return known.once(subject.armature, feature.read_state(subject), lambda note: feature.notice(subject, note))


def forget_notices(feature: Feature) -> None:
    """Look at a feature again when panels are drawn next."""
    if feature.key in _notices:
        _notices[feature.key].clear()
