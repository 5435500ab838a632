"""Check the rules of `house_rules/` in all modules of the product: python tools/check_house_rules.py

Prints what breaks a rule, one line each, and then exits with 1.
"""

from __future__ import annotations

import sys

from house_rules import RULES, Source, read_product


def main(sources: list[Source]) -> int:
    found = [line for check in RULES for line in check(sources)]
    print("\n".join(found) or "All rules of tools/house_rules are kept.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(read_product()))
