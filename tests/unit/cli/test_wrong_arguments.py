"""Wrong arguments that parsing refuses, without Blender: a message that names them, and exit code 2.

What is refused only with the file open, or at what is written, is in tests/blender/bad_input/test_command_line.py.
"""

from __future__ import annotations

from itertools import product

import pytest

from supple.cli import arguments, main
from supple.cli.arguments import WEIGHT_METHODS, build_parser

DONE, USAGE = 0, 2
EXPECTED = "supple=0.1.0,blender=5.2,file=" + 64 * "a"

COMMANDS: dict[str, tuple[str, ...]] = {
    "info": ("info", "FILE", f"--expect={EXPECTED}"),
    "bind": ("bind", "FILE", "--evaluate=python", "--output=OUT"),
    "update": ("update", "FILE", "--object=Tube", "--output=OUT"),
    "bake": ("bake", "FILE", "--object=Tube", "--frames=1-2", "--output=OUT"),
    "bake keys": ("bake", "FILE", "--object=Tube", "--frames=1-2", "--format=shape-keys", "--output=OUT"),
    "bake save": ("bake", "FILE", "--frames=-10-20:5,30", "--output=a.pc2", "--save=OUT"),
    "bake part": ("bake", "FILE", "--all", "--part", f"--expect={EXPECTED}", "--output=OUT"),
    "join": ("join", "FILE", "b.pc2", "--output=OUT"),
    "join folder": ("join", "FILE", "--frames=1-2", "--output=OUT"),
    "apply": ("apply", "FILE", "--cache=folder", "--object=Tube", "--render-script=r.py", "--output=OUT"),
    "farm": ("farm", "FILE", "--object=Tube", "--frames=1-2", "--engine=openjd", "--output=OUT"),
    "patterns": ("patterns", "FILE", "--frames=1-2", "--format=exr", "--output=OUT"),
    "weights": ("weights", "FILE", "--method=biharmonic", "--mode=unweighted", "--limit=4", "--output=OUT"),
    "check": ("check", "FILE", "--json=OUT", "--methods", "SSD", "PARTICLES"),
    "engine-copy": ("engine-copy", "FILE", "--target=fbx", "--tolerance=0.3cm", "--output=OUT"),
    "correct": ("correct", "FILE", "--joints=bone.1", "--angles=40,80.5", "--output=OUT"),
    "fit": ("fit", "FILE", "--object=a", "--rig=unreal", "--make", "--output=OUT"),
    "layers": ("layers", "FILE", "--mend", "--armature=Rig", "--report=json", "--output=OUT"),
    "swing": ("swing", "FILE", "--preset=tail", "--bones=a,b", "--angle=12", "--damping=.3", "--output=OUT"),
    "motion": ("motion", "loop", "FILE", "--pair=-10:20", "--blend=.5", "--output=OUT"),
}
"""Right ones: whatever is refused below is refused for what is put in their place, or added."""

LONG = "n" * 300
NOT_UNICODE = ("name \udcff", "\ud800", "nothing\0")
WORDS = ("", " ", "x", "é", LONG, "two\nlines", "\0", "PC2 ", "--output", "None")
NUMBERS = ("", " ", "a", "1.5", "1e3", "0x10", "nan", "inf", "½", "²", "9" * 5000)
FRAMES = {
    "is not a frame range: write 1-250": (
        "", " ", "all", "one", "-", "1-", "-1-", "1--", "1..8", "1e3", "1.5-3", "0x10", "1-8:", "1-8:-1", "1-8-9", ",",
        "1,", "1-8,", "1 ,2", "1-8 ", "nan", "inf", "½", "1 -8", f"1-{'9' * 30}", f"1-2:{'9' * 30}",
        f"1-{'9' * 5000}", f"1-2:{'9' * 5000}", "9" * 5000,
    ),
    "has no value": ("--",),
    "runs backwards: choose an end": ("8-1", "1-0", "0--1", "-1--3"),
    "Frame step is 0: choose 1 or more": ("1-8:0",),
    "is listed twice: list it once": ("1,1", "1-8,5"),
    "are outside Blender's range": (
        "10000000000-10000000001", "99999999999", "0-4294967297", "-99999999999-1", "0-1048575", "-1048575-0",
        "1048575", "-1048575",
    ),
    "choose 1,048,574 or less": ("1-2:1048575", "1-2:99999999999"),
}  # fmt: skip
"""By what is said of them."""

WRONG_PATHS = {"": "a path is empty", "--": "has no value"} | dict.fromkeys(NOT_UNICODE, "is not valid Unicode")

OPTIONS: list[tuple[str, str, tuple[str, ...]]] = [
    *((name, "--expect", WORDS) for name in ("info", "bake part", "join folder")),
    *((name, "--method", WORDS) for name in ("bind", "bake", "farm", "weights")),
    *((name, "--order", WORDS) for name in ("bind", "bake", "farm")),
    *((name, "--progress", (*WORDS, "dots")) for name in ("info", "bake", "join", "apply")),
    *((name, "--report", WORDS) for name in ("weights", "engine-copy", "motion", "swing", "fit", "layers")),
    ("fit", "--rig", (*WORDS, "cat", "HUMAN")),
    *(("bind", option, ("", "x", "half")) for option in ("--sharpness", "--bulge-limit")),
    *((name, "--format", WORDS) for name in ("bake", "patterns")),
    ("bind", "--method", ("LBS", "dlb")),
    ("farm", "--engine", WORDS),
    ("farm", "--chunk", NUMBERS),
    ("patterns", "--width", NUMBERS),
    ("weights", "--limit", (*NUMBERS, "-1")),
    ("weights", "--method", ("heat",)),
    ("weights", "--mode", (*WORDS, "mix", "ADD")),
    ("check", "--bend", (*WORDS, "-1", "151", "nan")),
    ("engine-copy", "--target", WORDS),
    ("engine-copy", "--tolerance", (*WORDS, "-1mm", "3 miles", "nan", "inf", "1e3mm")),
    ("engine-copy", "--influences", (*NUMBERS, "-1", "0", "3", "9")),
    ("engine-copy", "--bend", (*WORDS, "-1", "151", "nan")),
    ("correct", "--joints", ("\0",)),
    ("correct", "--angles", ("x", "é", LONG, "two\nlines", "\0", "151", "nan", "inf", "-40", "40;80", "40,wide")),
    ("motion", "--pair", (*WORDS, "5", "1-2", "1:2:3", "1.5:2", "12345678:1")),
    ("motion", "--blend", (*WORDS, "-1", "10.1", "1000", "nan", "inf", "1e1")),
    *((name, "--frames", sum(FRAMES.values(), ())) for name in ("bake", "join folder", "farm", "patterns", "check")),
    *((name, "--object", (*NOT_UNICODE, "--")) for name in ("bind", "update", "bake", "farm", "patterns", "weights")),
    ("correct", "--object", (*NOT_UNICODE, "--")),
    *(("weights", option, (*NOT_UNICODE, "--")) for option in ("--armature", "--handle")),
    ("apply", "--cache", ("", "--", *NOT_UNICODE)),
    *(("apply", option, ("",)) for option in ("--cache", "--render-script")),
    *(("check", option, ("",)) for option in ("--json", "--sheet")),
    *(("swing", option, (*WORDS, "wing", "TAIL")) for option in ("--preset", "--actions")),
    ("swing", "--angle", (*WORDS, "0", "-1", "61", "nan", "1e1")),
    *(("swing", option, (*WORDS, "-1", "nan", "inf", "1e1")) for option in ("--frequency", "--damping", "--gravity")),
    *(("swing", option, (*NOT_UNICODE, "--")) for option in ("--armature", "--bones", "--region")),
    ("layers", "--armature", (*NOT_UNICODE, "--")),
    ("motion", "--output", ("",)),
    ("engine-copy", "--save", ("",)),
    ("bake", "--save", ("",)),
]  # fmt: skip

OTHERWISE_WRONG: dict[tuple[str, ...], str] = {
    (): "the following arguments are required: COMMAND",
    ("dance",): "invalid choice: 'dance'",
    ("", "body.blend"): "invalid choice: ''",
    ("\0",): "is not valid Unicode",
    ("INFO", "body.blend"): "invalid choice: 'INFO'",
    ("--version",): "the following arguments are required: COMMAND",
    ("@body.blend",): "invalid choice: '@body.blend'",
    ("info",): "required: FILE.blend",
    ("info", "a.blend", "b.blend"): "unrecognized arguments: b.blend",
    ("info", "a.blend", "--unknown=1"): "unrecognized arguments: --unknown=1",
    ("info", "a.blend", "--json=yes"): "argument --json: ignored explicit argument 'yes'",
    ("bind", "a.blend"): "required: --output",
    ("bind", "a.blend", "--object", "--output=new"): "argument --object: expected one argument",
    ("bake", "a.blend", "--object=Tube"): "required: --output",
    ("bake", "a.blend", "--object=Tube", "--all", "--output=new"): "--all: not allowed with argument --object",
    ("bake", "a.blend", "--format=shape-keys", "--save=b.blend", "--output=new"): "--save needs --format pc2",
    ("bake", "a.blend", "--all", "--part", "--format=shape-keys", "--output=new"): "--part needs --format pc2",
    ("bake", "a.blend", "--all", "--part", "--save=b.blend", "--output=new"): "without --save: join the parts",
    ("farm", "a.blend", "--engine=openjd", "--output=new"): "one of the arguments --object --all is required",
    ("farm", "a.blend", "--all", "--output=new"): "required: --engine",
    ("weights", "a.blend"): "required: --output",
    ("join", "--output=new"): "required: PART.pc2",
    ("join", "a.pc2"): "required: --output",
    ("apply", "a.blend", "--output=new"): "required: --cache",
    ("motion", "walk", "a.blend"): "argument what: invalid choice: 'walk'",
    ("swing", "a.blend"): "required: --output",
    ("layers", "a.blend"): "required: --output",
    ("layers", "a.blend", "--mend", "--remove", "--output=new"): "--remove: not allowed with argument --mend",
    ("swing", "a.blend", "--update", "--remove", "--output=new"): "--remove: not allowed with argument --update",
    ("check", "a.blend", "--methods"): "argument --methods: expected at least one argument",
    ("check", "a.blend", "--methods", "SSD", "LBS"): "argument --methods: invalid choice: 'LBS'",
}


def refuse(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The sentence by which a command is refused."""
    capsys.readouterr()
    assert main(argv) == USAGE
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("usage: supple")
    assert "Traceback" not in told.err
    line = told.err.splitlines()[-1]
    assert line.startswith("supple: error: ")
    assert line.isprintable()
    assert len(line) > len("supple: error: ") + 10
    return line


def fill_in(name: str, file: str = "hero.blend", output: str = "new") -> list[str]:
    return [word.replace("FILE", file).replace("OUT", output) for word in COMMANDS[name]]


def test_right_arguments_are_taken(subtests: pytest.Subtests) -> None:
    for name in COMMANDS:
        with subtests.test(name):
            assert build_parser().parse_args(fill_in(name)).command == name.split()[0]
    assert len({name.split()[0] for name in COMMANDS}) == len(arguments.COMMANDS), "give each command a right one above"
    assert WEIGHT_METHODS["bbw"] == WEIGHT_METHODS["biharmonic"], "a word of earlier versions"


def test_values_of_options(subtests: pytest.Subtests, capsys: pytest.CaptureFixture[str]) -> None:
    for name, option, values in OPTIONS:
        for value in values:
            with subtests.test(ascii(f"{name} {option}={value}")[:80]):
                line = refuse(capsys, *fill_in(name), f"{option}={value}")
                if value in ("--", "\0", *NOT_UNICODE):
                    assert ("has no value" if value == "--" else "is not valid Unicode") in line
                else:
                    assert f"argument {option}: " in line


def test_what_is_said_of_frames(subtests: pytest.Subtests, capsys: pytest.CaptureFixture[str]) -> None:
    for message, values in FRAMES.items():
        for value in values:
            with subtests.test(value[:40]):
                assert message in refuse(capsys, "bake", "hero.blend", f"--frames={value}", "--output=new")
    assert "'one' is not a frame range: write 1-250 or 1-250:2" in refuse(capsys, *fill_in("bake"), "--frames=one")


def test_paths(subtests: pytest.Subtests, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in product(COMMANDS, WRONG_PATHS):
        with subtests.test(ascii(f"{name} {value}")):
            if value != "--":  # where a file stands, that is an option's
                assert WRONG_PATHS[value] in refuse(capsys, *fill_in(name, file=value))
            if name != "info":
                assert WRONG_PATHS[value] in refuse(capsys, *fill_in(name, output=value))


def test_what_is_missing_unknown_or_does_not_go_together(
    subtests: pytest.Subtests, capsys: pytest.CaptureFixture[str]
) -> None:
    for argv, message in OTHERWISE_WRONG.items():
        with subtests.test(ascii(" ".join(argv))):
            assert message in refuse(capsys, *argv)


def test_help(subtests: pytest.Subtests, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("", *COMMANDS):
        with subtests.test(name):
            assert main([*name.split()[:1], "--help"]) == DONE
            told = capsys.readouterr()
            assert told.out.startswith(f"usage: supple {name.split()[0] if name else '[-h]'}")
            assert told.err == ""
