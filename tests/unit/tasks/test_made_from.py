from dataclasses import replace

import pytest

from supple.deformers import SkinningError
from supple.tasks.bake.made_from import Inputs

MADE = Inputs("0.1.0", "5.2", "ab" * 32)


def test_inputs_are_one_word_and_back() -> None:
    assert MADE.describe() == f"supple=0.1.0,blender=5.2,file={'ab' * 32}"
    assert Inputs.parse(MADE.describe()) == MADE


def test_other_words_are_refused() -> None:
    word = MADE.describe()
    for text in ("", "supple=0.1.0", word[:-1], word + "0", word.upper(), "\n"):
        with pytest.raises(SkinningError, match="does not list the versions and files of a job: copy it from the job"):
            Inputs.parse(text)


def test_all_that_differs_is_named() -> None:
    MADE.check(MADE)
    for made, message in (
        (
            replace(MADE, supple="0.2.0"),
            "(Supple 0.2.0 instead of 0.1.0): install the same versions on all machines, or make",
        ),
        (
            replace(MADE, blender="4.2"),
            "(Blender 4.2 instead of 5.2): install the same versions on all machines, or make",
        ),
        (
            Inputs("0.2.0", "4.2", "00" * 32),
            "(Supple 0.2.0 instead of 0.1.0, Blender 4.2 instead of 5.2, another state of the file, or of a library or",
        ),
    ):
        with pytest.raises(SkinningError) as caught:
            made.check(MADE)
        assert message in str(caught.value)
