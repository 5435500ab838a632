"""Errors have codes: each its own, and a page that says what they are of."""

import re

from list_messages import list_messages, write_page


def test_each_error_has_a_code_of_its_own_and_a_page_that_exists():
    messages = list_messages()  # raises where two have one code
    assert len(messages) > 300
    assert all(re.fullmatch("SUP-[0-9A-F]{5}", code) for code in messages)
    page = write_page()
    assert page.count("\n## SUP-") == len(messages)
    files = set(re.findall(r"\]\(([\w-]+\.md)", page))
    assert {"weights.md", "checks.md", "binding.md"} <= files
