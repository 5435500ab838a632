"""What the methods of automatic weights say about themselves."""

from dataclasses import fields
from inspect import signature

from supple.deformers.automatic_weights import DEFAULT_METHOD, METHODS, SOLVERS

from ..cases import each


def test_keys_are_those_of_saved_files() -> None:
    assert list(METHODS) == ["SOLID", "SURFACE", "BIHARMONIC"]
    assert DEFAULT_METHOD in METHODS


def test_words_differ_and_former_ones_stay() -> None:
    words = [word for method in METHODS.values() for word in method.words]
    assert len(set(words)) == len(words)
    assert [method.words[0] for method in METHODS.values()] == ["solid", "surface", "biharmonic"]
    assert "bbw" in METHODS["BIHARMONIC"].words


@each("key", METHODS)
def test_choices_are_fields(key: str) -> None:
    method = METHODS[key]
    names = {field.name for field in fields(method.params)}
    assert {choice.name for choice in method.choices} <= names
    assert all(choice.lowest == 0 for choice in method.choices)


@each("key", METHODS)
def test_params_are_what_is_chosen_for_this_method(key: str) -> None:
    """0 stands for the default, and other methods' choices do not count."""
    method = METHODS[key]
    names = [choice.name for choice in method.choices]
    everything = {choice.name: 7 for other in METHODS.values() for choice in other.choices}
    assert method.make_params({}) == method.make_params(dict.fromkeys(everything, 0)) == method.params()
    assert method.make_params(everything) == method.params(**dict.fromkeys(names, 7))


@each("key", METHODS)
def test_all_solve_alike(key: str) -> None:
    more = ["make_crossing_test", "fallback"] if METHODS[key].casts_rays else []
    more += ["handles"] if METHODS[key].has_handles else []
    wanted = ["points", "triangles", "heads", "tails", "params", "progress", *more]
    assert list(signature(SOLVERS[key].solve).parameters) == wanted
