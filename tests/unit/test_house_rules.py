"""The rules of ``tools/house_rules``: what breaks one is found, what keeps it passes. `make lint` runs them."""

import ast
import json

import pytest

import check_house_rules
from house_rules import Source, docstrings, layers, marks, nothing_executed, translations, words


def test_all_rules_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    source = 'import bpy\nimport pickle\nmesh.foreach_get("co", out)\nraise SkinningError("No such eye: open it")'
    assert check_house_rules.main([Source("deformers/geometry/eyes.py", source)]) == 1
    lines = capsys.readouterr().out.splitlines()
    found = [line.partition("eyes.py:")[2].partition(",")[0] for line in lines if "eyes.py:" in line]
    assert found == [
        "1: imports bpy",
        "3: foreach_get is for bridge and nodes alone: call a function there",
        "2: pickle can execute what a file says: read it as data",
        "1: the module has no docstring",
        "4: translate this",
    ]
    assert "tools/house_rules/layers.py:1: deformers/errors is gone: take its row out of MAY_IMPORT" in lines


# Layers

FORBIDDEN = [
    ("deformers/skinning/linear.py", "import bpy"),
    ("deformers/skinning/linear.py", "def bind():\n    from mathutils import Matrix"),
    ("deformers/skinning/linear.py", "from ...bridge import meshes"),
    ("deformers/skinning/linear.py", "from ..patterns import heights"),
    ("deformers/skinning/linear.py", "from .. import SkinningError"),
    ("deformers/geometry/solid.py", "from ..rig.rest import Rest"),
    ("bridge/meshes/data.py", "from ... import tasks"),
    ("bridge/meshes/data.py", "from ...tasks.subject.stack import resolve"),
    ("tasks/skin/bind.py", "from supple.deformers import linear"),
    ("tasks/skin/bind.py", "from ...bridge import meshes\nmesh.vertices.foreach_get('co', out)"),
    ("tasks/weights/edits.py", "from ..skin.bind import bind"),
    ("tasks/subject/stack.py", "from ..skin.bind import bind"),
    ("ui/panels.py", "from ..tasks.skin.bind import bind"),
    ("live.py", "from .operators import bind"),
    ("operators/skin/bind.py", "import numpy as np"),
    ("ui/panels.py", "from numpy import array"),
    ("__init__.py", "from .tasks import skin"),
    ("nothing/new.py", "from ..deformers import SkinningError"),
]
ALLOWED = [
    ("deformers/skinning/linear.py", "import numpy as np\nfrom ..errors import SkinningError\nfrom . import polar"),
    ("deformers/__init__.py", "from .skinning import ssd\nfrom .errors import SkinningError"),
    ("bridge/meshes/data.py", "import bpy\nfrom ...deformers import ssd\nmesh.vertices.foreach_get('co', out)"),
    ("tasks/skin/bind.py", "from ..stack import resolve\nfrom ...deformers.rig.rest import Rest"),
    ("registration.py", "from . import settings, ui"),
]


def test_imports_point_down(subtests: pytest.Subtests) -> None:
    for count, cases in ((1, FORBIDDEN), (0, ALLOWED)):
        for file, text in cases:
            with subtests.test(file=file, text=text):
                assert len(list(layers.check_source(Source(file, text), set()))) == count


def test_every_part_and_package_has_its_row() -> None:
    modules = {name.rstrip("/") for name in layers.MAY_IMPORT}
    assert list(layers.check_rows(modules, {"deformers/rig", "tasks"})) == []
    (extra, lacking) = layers.check_rows((modules | {"games"}) - {"tasks/skin"}, {"deformers/rig"})
    assert "give games a row" in extra
    assert "tasks/skin is gone" in lacking
    (lacking,) = layers.check_rows(modules | {"tasks/games"}, {"tasks/games"})
    assert "give tasks/games a row" in lacking


def test_rows_make_no_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MAY_IMPORT", {"a": {"b/c"}, "b/c": set(), "d": {"b"}})
    (found,) = layers.check_rows({"a", "b/c", "d"}, set())
    assert "a may import b/c, which comes after it" in found


def test_a_circle_is_found() -> None:
    assert layers.find_circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert layers.find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    texts = {"one": "from . import two", "two": "from .three import f", "three": "from .one import f", "__init__": ""}
    found = layers.check([Source(f"cli/{name}.py", text) for name, text in texts.items()])
    way = "cli/one -> cli/two -> cli/three -> cli/one"
    assert f"cli/one.py:1: imports itself, {way}: move what both need into a module below" in found
    assert not any("itself" in line for line in layers.check([Source("cli/__init__.py", "from . import a"),
                                                              Source("cli/a.py", "from . import b")]))  # fmt: skip


# Nothing executed

EXECUTING = [
    "eval(x)", "exec(x)", "a.compile(x)", "__import__(x)", "import pickle", "from subprocess import run",
    "os.system(x)", "bpy.data.texts.new('x')", "np.load(x, allow_pickle=True)", "bpy.app.driver_namespace['f'] = f",
    "driver.expression = x", "add(expression=x)",
]  # fmt: skip


def test_what_executes_text_is_found(subtests: pytest.Subtests) -> None:
    for text in EXECUTING:
        with subtests.test(text):
            (found,) = nothing_executed.check([Source("bridge/a.py", text)])
            assert found.startswith("bridge/a.py:1: ")
    allowed = "re.compile(x)\nnp.load(x, allow_pickle=False)\nread(driver.expression)\nfrom .code import run"
    assert nothing_executed.check([Source("bridge/a.py", allowed)]) == []


@pytest.mark.parametrize(("file", "command"), nothing_executed.STARTS.items())
def test_only_what_is_known_is_started(file: str, command: str) -> None:
    def started(call: str) -> list[str]:
        return nothing_executed.check([Source(file, f"import subprocess\n{call}")])

    assert started(f"subprocess.Popen({command}, stdout=log)") == []
    for call in ("subprocess.Popen(command)", "subprocess.run(command)", "Popen(command)", "eval(x)"):
        assert len(started(call)) == 1
    assert len(started(f"subprocess.Popen({command}, shell=True)")) == 1


# Docstrings

DOCUMENTED = '''
"""A module."""

def blend(points: np.ndarray, weights: np.ndarray | None, share: float, _unused: int = 0) -> np.ndarray:
    """Blend.

    Parameters
    ----------
    points, weights : float arrays, shape (V, 3)
    share : float
        Of the other one.

    Raises
    ------
    SkinningError
        Where it cannot.
    """
    raise SkinningError("no")
'''


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"""A module."""', "", "1: the module has no docstring"),
        ('    """Blend.', '    x = """Blend.', "4: blend has no docstring"),
        (", weights :", " :", "4: blend: no shape is given for 'weights'"),
        ("        Of the other one.\n", "", "4: blend: the entry 'share' only repeats the annotation"),
        (", shape (V, 3)", "", "4: blend: no shape is given for 'points'"),
        ("    SkinningError\n", "    ValueError\n", "4: blend: it is not said when it raises SkinningError"),
    ],
)
def test_what_a_docstring_lacks_is_found(old: str, new: str, problem: str) -> None:
    assert docstrings.check([Source("bridge/a.py", DOCUMENTED)]) == []
    assert old in DOCUMENTED
    found = docstrings.check([Source("bridge/a.py", DOCUMENTED.replace(old, new))])
    assert any(line.startswith(f"bridge/a.py:{problem}") for line in found)


def test_a_function_of_two_parameters_may_say_it_in_its_sentence() -> None:
    start = '"""A module."""\n\ndef move(points: np.ndarray, by: float):\n    """Move points'
    assert docstrings.check([Source("bridge/a.py", f'{start}, shape (V, 3), along x."""')]) == []
    lacking = docstrings.check([Source("bridge/a.py", f'{start} along x."""')])
    assert lacking == ["bridge/a.py:3: move: no shape is given for 'points'"]


# Translations


def test_what_is_not_translated_is_found() -> None:
    calls = [
        "self.report({'INFO'}, 'a')",
        "layout.label(text=name)",
        "cls.poll_message_set(SELECT)",
        "a.label(text='b')",
        "self.report({'INFO'}, translate(name))",
        "layout.label(text=name, translate=False)",
    ]
    nodes = [ast.parse(call).body[0].value for call in calls]
    assert [translations.is_untranslated(node) for node in nodes] == [True, True, True, False, False, False]
    assert "ui/a.py:1: wrap this text in translate(...)" in translations.check([Source("ui/a.py", calls[1])])


def test_texts_are_found_in_a_source() -> None:
    source = '''
class SUPPLE_OT_a(Operator):
    """Do it"""
    bl_idname = "supple.a"
    bl_label = "A"
    size: FloatProperty(name="Size", description="How large it is")
    kept: FloatProperty(name="Kept", options={"HIDDEN"})
    def run(self):
        """No text."""
        raise SkinningError(f"'{self.name}' has {count} eyes: give it {2 - count:.1f} more.")
ITEMS = (("ONE", "One", "The first one"),)
KEYS = ("one", "two")
'''
    shown, strings = translations.find_texts(Source("operators/a.py", source))
    said = "'{}' has {} eyes: give it {} more"
    assert shown.keys() == {"Do it", "A", "Size", "How large it is", said, "One", "The first one"}
    assert shown[said] == 10
    assert "two" in strings


def test_faults_of_the_table_are_found(subtests: pytest.Subtests) -> None:
    def faults(table: dict[str, str]) -> list[str]:
        content = json.dumps(table, ensure_ascii=False, indent=2) + "\n"
        return list(translations.check_table(content, {"{} of {}": "ui/a.py:3"}, {"{} of {}", "Hue", "The name"}))

    good = {"The name": "名前", "{} of {}": "{1}の{0}"}
    assert faults(good) == faults(good | {"{} of {}": "{}の{}"}) == faults({"Hue": "Hue"} | good) == []
    file = translations.FILE
    for table, fault in {
        (
            ("The name", "名前"),
        ): 'ui/a.py:3: translate this, and add it to translations/ja_JP.json in its order:  "{} of {}": "",',
        (("Gone", "無"), *good.items()): f'{file}:2: "Gone" is in no source',
        tuple(reversed(good.items())): f"{file}:1: is out of order",
        tuple((good | {"{} of {}": "{}の"}).items()): f'{file}:3: "{{}} of {{}}" has other values',
        tuple((good | {"{} of {}": "{2}の{0}"}).items()): f'{file}:3: "{{}} of {{}}" has other values',
        tuple((good | {"The name": "The name"}).items()): f'{file}:2: "The name" is not Japanese',
        tuple((good | {"The name": "名前。"}).items()): f'{file}:2: "The name" is empty or ends',
        tuple(({"Hue": ""} | good).items()): f'{file}:2: "Hue" is empty or ends',
    }.items():
        with subtests.test(fault):
            (found,) = faults(dict(table))
            assert found.startswith(fault)


# Marks


def test_names_of_custom_properties_have_one_module() -> None:
    spelled = 'bone["supple_swing"] = True'
    for file, count in (("tasks/swing/add.py", 1), (marks.OWNER, 0), ("nodes/groups.py", 0)):
        assert len(list(marks.check([Source(file, spelled)]))) == count


# Words


def test_rare_syntax_is_fine_and_frequent_syntax_is_found() -> None:
    plain = Source("tasks/skin/plain.py", f'"""{"Move the points of a mesh. " * 200}What it was."""')
    assert words.check([plain]) == []
    translated = '"""What it was, where it is, from which on it can not."""\ndef run():\n    """The same, run."""'
    found = words.check([plain, Source("tasks/skin/odd.py", translated)])
    assert {line.partition(":")[0] for line in found if "from which" in line} == {"tasks/skin/odd.py"}
    assert len(words.check([Source("tasks/skin/odd.py", translated)])) == 5
