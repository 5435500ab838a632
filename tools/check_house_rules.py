"""Check the rules of `house_rules/` in all modules of the product: python tools/check_house_rules.py

Prints what breaks a rule, one line each, and then exits with 1. Subjects of the last commits are checked, too.
"""

from __future__ import annotations

import subprocess
import sys

from house_rules import RULES, Source, read_product

# Those before were written without the rule
COMMITS = 10
MAX_SUBJECT = 72


def check_commits() -> list[str]:
    """Subjects of commits that a list of them would cut; nothing in a copy without history."""
    command = ["git", "log", f"-{COMMITS}", "--no-merges", "--format=%h %s"]
    log = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    subjects = [line.partition(" ") for line in log.splitlines()]
    return [
        f"commit {commit}: its subject has {len(subject)} letters of {MAX_SUBJECT}: put the why into the body"
        for commit, _, subject in subjects
        if len(subject) > MAX_SUBJECT
    ]


def main(sources: list[Source]) -> int:
    found = [line for check in RULES for line in check(sources)] + check_commits()
    print("\n".join(found) or "All rules of tools/house_rules are kept.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(read_product()))
