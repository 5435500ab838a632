"""The page of all errors by their codes, for the site: what each says, in both languages, and the page of its feature.

python tools/list_messages.py
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from collections.abc import Iterator

from house_rules.sources import ROOT, Source, read_product
from house_rules.translations import FILE, name_called, texts_of
from write_map import FEATURES

RAISED = {"SkinningError", "UnsupportedError"}
"""What an error is raised by."""

HEAD = """# Errors by code

The code at the end of an error is the same in all languages. `{}` stands for a name or a number.

"""


def find_raised(source: Source) -> Iterator[str]:
    """The texts of the errors that a module raises, as the table of translations has them."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and name_called(node) in RAISED and node.args:
            for text in texts_of(node.args[0]):
                yield text.split("\\n")[0].removesuffix(".")


def find_page(module: str) -> str:
    """A link to the page of a module's feature, as Markdown."""
    found = (feature for feature, pattern in FEATURES.items() if re.search(pattern, module))
    return next(found, "[Binding](binding.md)")


def list_messages() -> dict[str, tuple[str, str]]:
    """By code, the text of an error and the link of its feature; raises ValueError where two have one code."""
    spec = importlib.util.spec_from_file_location("phrases", ROOT / "translations" / "phrases.py")
    assert spec is not None
    assert spec.loader is not None
    phrases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(phrases)
    table, found = json.loads((ROOT / FILE).read_text(encoding="utf-8")), dict[str, tuple[str, str]]()
    for source in read_product():
        for text in find_raised(source):
            known = found.setdefault(phrases.make_code(text), (text, find_page(source.module)))
            if known[0] != text:
                raise ValueError(f"Two errors have one code: reword one of them: {known[0]!r}, {text!r}")
    return {code: found[code] for code in sorted(found) if found[code][0] in table}


def write_page() -> str:
    """The page, as Markdown."""
    table = json.loads((ROOT / FILE).read_text(encoding="utf-8"))
    return HEAD + "".join(
        f"## {code}\n\n{_escape(text)}.\n\n{_escape(table[text])}。\n\nSee {page}.\n\n"
        for code, (text, page) in list_messages().items()
    )


def _escape(text: str) -> str:
    """Without what Markdown would read as markup."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", text)


if __name__ == "__main__":
    print(write_page())
