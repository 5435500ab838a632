"""Options of tasks: rows from which properties, arguments and checks of values are made."""

from __future__ import annotations

import argparse
import math

import pytest

from supple.cli.arguments import build_parser
from supple.cli.options import read_options
from supple.deformers import SkinningError
from supple.options import (
    CheckOptions,
    CopyOptions,
    DragOptions,
    MotionOptions,
    SwingOptions,
    TaskOptions,
    WeightOptions,
    make_options,
    rows_of,
)

KINDS = (CheckOptions, CopyOptions, DragOptions, MotionOptions, SwingOptions, WeightOptions)
COMMANDS: dict[type[TaskOptions], list[str]] = {
    CopyOptions: ["engine-copy", "hero.blend"],
    MotionOptions: ["motion", "loop", "hero.blend"],
    SwingOptions: ["swing", "hero.blend", "--output=new.blend"],
    WeightOptions: ["weights", "hero.blend", "--output=new.blend"],
}


def take_options(kind: type[TaskOptions], arguments: argparse.Namespace) -> TaskOptions:
    return make_options(kind, **read_options(kind, arguments))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_have_texts_and_defaults_that_are_allowed(kind: type[TaskOptions]) -> None:
    assert kind() == kind(**{option.name: option.default for option in rows_of(kind)})
    for option in rows_of(kind):
        assert option.label or option.help
        assert not option.tooltip.endswith(".")


@pytest.mark.parametrize(("kind", "argv"), COMMANDS.items())
def test_what_is_not_given_has_its_default(kind: type[TaskOptions], argv: list[str]) -> None:
    assert take_options(kind, build_parser().parse_args(argv)) == kind()


def test_what_is_given_is_taken() -> None:
    argv = [*COMMANDS[CopyOptions], "--target=vrm", "--tolerance=1cm", "--influences=8", "--helpers=0", "--keys=12"]
    taken = take_options(CopyOptions, build_parser().parse_args(argv))
    assert taken == CopyOptions(target="vrm", tolerance=0.01, influences=8, helpers=0, keys=12)
    argv = [*COMMANDS[WeightOptions], "--mode=unweighted", "--mirror", "--limit=4"]
    taken = take_options(WeightOptions, build_parser().parse_args(argv))
    assert taken == WeightOptions(mode="UNWEIGHTED", mirror=True, limit=4)
    argv = [*COMMANDS[MotionOptions], "--blend=.5", "--no-hold"]
    assert take_options(MotionOptions, build_parser().parse_args(argv)) == MotionOptions(0.5, holds_feet=False)
    argv = [
        *COMMANDS[SwingOptions],
        "--preset=ear",
        "--actions=active",
        "--angle=18",
        "--frequency=2.5",
        "--gravity=.5",
    ]
    taken = take_options(SwingOptions, build_parser().parse_args(argv))
    assert taken == SwingOptions("EAR", "ACTIVE", math.radians(18.0), 2.5, gravity=0.5)


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        (CopyOptions, "influences", 5, "Influences is 5: choose one of 4, 8"),
        (CopyOptions, "target", "obj", "Target is 'obj': choose one of gltf, fbx, vrm, usd"),
        (CopyOptions, "helpers", 9, "Helpers is 9: choose -1 to 8"),
        (MotionOptions, "blend", float("nan"), "Blend is nan: choose 0 to 10"),
        (WeightOptions, "mode", "", "Mode is '': choose one of REPLACE, ADD, UNWEIGHTED"),
        (DragOptions, "iterations", 0, "Iterations is 0: choose 1 to 100"),
    ],
)
def test_values_out_of_range_are_refused(kind: type[TaskOptions], name: str, value: object, message: str) -> None:
    with pytest.raises(SkinningError, match=message):
        kind(**{name: value})


def test_without_a_range_of_motion_nothing_is_bent() -> None:
    assert CheckOptions(use_bends=False).bend == CheckOptions(angle=0.0).bend == 0.0
