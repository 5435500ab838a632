"""Texts found in a table although values have been filled in, and several of them joined."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import lru_cache

PLACEHOLDER = re.compile(r"\{\w*\}")
# A value does not extend over several sentences.
VALUE = r"((?:(?!\. |\n).)+?)"

# Joints between texts, and between values in a list
JOINTS = ("; ", ": ", ", ")


class Phrases:
    """A table of texts and their translations.

    `table`: `{}` stands for a value. Texts have no full stop at their end, nor have translations.

    Attributes
    ----------
    plain : dict of str to str
        The texts without values.
    """

    def __init__(self, table: dict[str, str]) -> None:
        self.plain = {text: found for text, found in table.items() if not PLACEHOLDER.search(text)}
        filled = (text for text in table if text not in self.plain)
        self._filled = [
            (text, _longest_part(text), _compile(text), table[text])
            for text in sorted(filled, key=lambda text: len(PLACEHOLDER.sub("", text)), reverse=True)
        ]
        self.translate = lru_cache(maxsize=2048)(self._translate)

    def _translate(self, text: str) -> str:
        """The translation of a text; an unknown text stays."""
        if "\n" in text:
            return "\n".join(map(self.translate, text.split("\n")))
        return (
            self._find(text)
            or self._translate_sentences(text)
            or self._translate_beginning(text)
            or self._find(text, has_lists=True)
            or self._translate_parts(text)
            or text
        )

    def _find(self, text: str, has_lists: bool = False) -> str:
        """The table's translation of a text, or ""; `has_lists` lets values be lists or messages."""
        bare = text.removesuffix(".")
        end = "。" if bare != text else ""
        if bare in self.plain:
            return self.plain[bare] + end
        for _, match, found in self._list_matches(bare, has_lists):
            values = [
                value if _is_quoted(bare, match.span(number)) else self.translate(value)
                for number, value in enumerate(match.groups(), 1)
            ]
            return found.format(*values) + end
        return ""

    def _list_matches(self, bare: str, has_lists: bool) -> Iterator[tuple[str, re.Match[str], str]]:
        """Texts of the table that values may have been filled into, and their translations."""
        for text, part, pattern, found in self._filled:
            match = pattern.fullmatch(bare) if part in bare else None
            if match and ((has_lists and match.start(1)) or not any(map(_is_joined, match.groups()))):
                yield text, match, found

    def find(self, message: str) -> str:
        """The table's text for a message or its beginning; "" if there is none."""
        line = message.split("\n")[0]
        sentences = line.removesuffix(".").split(". ")
        for end in range(len(sentences), 0, -1):
            bare = ". ".join(sentences[:end])
            if bare in self.plain:
                return bare
            for has_lists in (False, True):
                for text, _, _ in self._list_matches(bare, has_lists):
                    return text
        return ""

    def _translate_sentences(self, text: str) -> str:
        """Sentences in a row, each by itself or with those that follow it in the table."""
        sentences, translated, start = text.split(". "), "", 0
        if len(sentences) == 1:
            return ""
        while start < len(sentences):
            ends = range(len(sentences), start, -1)
            end = next((end for end in ends if self._find(". ".join(sentences[start:end]))), start + 1)
            run = ". ".join(sentences[start:end])
            found = self._find(run) or self.translate(run)
            mark = "" if end == len(sentences) else "。" if found != run else ". "
            translated, start = translated + found + mark, end
        return translated

    def _translate_beginning(self, text: str) -> str:
        """Translate a text of the table, followed by a joint and another text."""
        for joint in JOINTS[:2]:
            first, found, rest = text.partition(joint)
            if found and (beginning := self._find(first)):
                return beginning + joint + self.translate(rest)
        return ""

    def _translate_parts(self, text: str) -> str:
        """Translate joined texts if any of them is known."""
        for joint in JOINTS:
            parts = text.split(joint)
            translated = list(map(self.translate, parts)) if len(parts) > 1 else parts
            if translated != parts:
                return joint.join(translated)
        return ""


def make_code(text: str) -> str:
    """The code of a text of the table."""
    return f"SUP-{zlib.crc32(text.encode()) & 0xFFFFF:05X}"


def _compile(text: str) -> re.Pattern[str]:
    return re.compile(VALUE.join(map(re.escape, PLACEHOLDER.split(text))))


def _longest_part(text: str) -> str:
    return max(PLACEHOLDER.split(text), key=len)


def _is_quoted(text: str, span: tuple[int, int]) -> bool:
    """Whether a value stands in quotation marks: it is a name."""
    return text[: span[0]].endswith("'") and text[span[1] :].startswith("'")


def _is_joined(value: str) -> bool:
    return any(joint in value for joint in JOINTS)
