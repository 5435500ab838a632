"""What each method says about itself, held against what it does."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from supple.deformers import DEFAULT_METHOD, DEFORMERS, METHODS, Method, Option, SkinningError
from supple.deformers.particles import particles_2010, solid_2010

from . import characters, reference

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = ("bind", "deform", "vertex_transforms", "with_points")
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))


def test_stored_keys_stay() -> None:
    assert {"SSD", "DLB", "DLBNT", "CENTERS", "PARTICLES", "PARTICLES_2010"} <= set(METHODS)
    assert DEFAULT_METHOD == "DLB"
    assert list(METHODS) == list(DEFORMERS)


@every_method
def test_modules_have_what_a_method_needs(method: Method) -> None:
    module = DEFORMERS[method.key]
    assert module.Params is method.params
    assert all(callable(getattr(module, name)) for name in FUNCTIONS)
    for name in ("particles", "pose_particles"):
        assert hasattr(module, name) == method.fills_solid


@every_method
def test_labels_are_words_and_tooltips_have_no_full_stop(method: Method) -> None:
    for item in (method, *method.choices):
        assert item.label
        assert item.tooltip
        assert not item.tooltip.endswith(".")


@every_method
def test_choices_are_fields_and_their_defaults_are_allowed(method: Method) -> None:
    assert [choice.name for choice in method.choices] == list(dict.fromkeys(choice.name for choice in method.choices))
    assert {choice.name for choice in method.choices} == {field.name for field in fields(method.params)}
    for choice in method.choices:
        choice.check(method.default_of(choice))


def test_choices_of_one_property_are_the_same() -> None:
    for fills_solid in (False, True):
        kept: dict[str, Option] = {}
        for method in METHODS.values():
            for choice in method.choices if method.fills_solid == fills_solid else ():
                assert kept.setdefault(choice.name, choice) == choice


@every_method
def test_a_word_that_is_no_choice_is_refused(method: Method) -> None:
    for choice in method.choices:
        if choice.items:
            with pytest.raises(SkinningError, match=f"choose one of {', '.join(choice.keys)}"):
                method.params(**{choice.name: "NONE OF THEM"})


def test_numbers_out_of_range_are_refused() -> None:
    choice = Option("some_number", "Number", "A number", lowest=1, highest=3)
    for value in (1, 3):
        choice.check(value)
    for value in (0.9, 3.1, float("nan")):
        with pytest.raises(SkinningError, match=f"Some number is {value}: choose 1 to 3"):
            choice.check(value)


def test_variants_are_named_by_what_is_chosen() -> None:
    assert [METHODS["DLBNT"].name_variant(params) for params in METHODS["DLBNT"].variants()] == ["DLBNT GH", "DLBNT HG"]
    assert [METHODS["SSD"].name_variant(params) for params in METHODS["SSD"].variants()] == ["SSD"]


def test_methods_keep_their_numbers() -> None:
    """Files store them."""
    numbers = {"SSD": 0, "DLB": 1, "DLBNT": 2, "PARTICLES": 3, "PARTICLES_2010": 4, "CENTERS": 5}
    assert {key: method.number for key, method in METHODS.items()} == numbers


def test_fillings_to_choose_from_are_those_that_there_are() -> None:
    assert particles_2010.FILL.keys == tuple(solid_2010.FILLS)


def test_every_blend_has_a_reference() -> None:
    assert tuple(reference.METHODS) == characters.METHODS


def test_readme_lists_the_methods_with_their_pages() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Methods\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \[([^]]+)\]\((docs/[\w-]+\.md)(#[\w-]*)?\) \|", section, re.MULTILINE)
    assert [label for label, _, _ in rows] == [method.label for method in METHODS.values()]
    for _, page, _ in rows:
        assert (ROOT / page).is_file()
