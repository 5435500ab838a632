"""Random use of Supple: draws sequences of actions, runs each with and without Supple, and shrinks what fails.

python tests/random/run.py --seed 1 --seconds 180          fresh sequences
python tests/random/run.py --found                         those that have failed once
python tests/random/run.py --replay FILE.json              one of them

Each sequence runs in two Blenders, one of which never binds: what both do is Blender's own. A sequence that fails is
written into --into, shrunk, as JSON; once it is mended, it belongs into tests/random/found.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path += [str(ROOT / "tools"), str(ROOT / "tests" / "blender"), str(ROOT)]

import bpy
import characters
from blenders import run_jobs
from compare import Failure, find_failure
from shrink import shrink

FOUND = HERE / "found"
BATCH = 8
"""Sequences that share a process."""


def draw_jobs(rng: random.Random, names: list[str], count: int, left_out: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": f"{number}",
            "character": rng.choice(names),
            "only_linear": rng.random() < 0.6,
            "seed": rng.randrange(10**9),
            "count": count,
            "left_out": left_out,
        }
        for number in range(BATCH)
    ]


def check(jobs: list[dict[str, Any]], folder: Path, totals: Counter) -> list[tuple[dict[str, Any], Failure]]:
    """Run sequences with and without Supple: those that fail, with the actions that they had."""
    results = run_jobs(jobs, folder)
    failed = []
    for job in jobs:
        with_supple, without = results[job["name"]]
        totals["actions", job["character"]] += len(with_supple.steps)
        totals.update({("used", *use): count for use, count in with_supple.used.items()})
        totals["compared"] += sum(
            state["bound"] and state["same"] for s in with_supple.steps for state in s["states"].values()
        )
        for step in with_supple.steps:
            totals["seconds", step["action"][0]] += step.get("seconds", 0.0)
        if without.ended != "done":
            totals["Blender's own", f"{without.ended} at {without.last_action}"] += 1
        failure = find_failure(with_supple, without)
        if failure is not None:
            failed.append((dict(job, actions=with_supple.actions or without.actions), failure))
    return failed


def report(job: dict[str, Any], failure: Failure, into: Path, folder: Path | None) -> None:
    """Shrink a sequence, in a folder if one is given, and write it."""
    print(f"FAILED {job['character']}: {failure.kind} at step {failure.step}: {failure.text[:600]}", flush=True)
    actions, text = job["actions"][: max(1, failure.step)], []
    if folder is not None:
        actions, failure, text = shrink(job, failure, folder)
    found = {
        "blender": ".".join(map(str, bpy.app.version)),
        "character": job["character"],
        "only_linear": job["only_linear"],
        "failure": f"{failure.kind}: {failure.text}"[:3000],
        "actions": actions,
        "said": text,
    }
    into.mkdir(parents=True, exist_ok=True)
    slug = "".join(c if c.isalnum() else "-" for c in f"{failure.kind} {failure.label}".lower()).strip("-")[:50]
    path = into / f"{slug}-{abs(hash(json.dumps(actions))) % 10**6}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"  shrunk to {len(actions)} actions: {path}")
    for said in text:
        print(f"    {said}")
    print(f"    -> {failure.kind}: {failure.text[:600]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--actions", type=int, default=10**9, help="stop after that many")
    parser.add_argument("--length", type=int, default=30)
    parser.add_argument("--characters", nargs="*", default=[])
    parser.add_argument("--without", nargs="*", default=[], help="kinds of actions that are not drawn")
    parser.add_argument("--found", action="store_true")
    parser.add_argument("--replay", type=Path, nargs="*", default=[])
    parser.add_argument("--into", type=Path, default=ROOT / "dist/random")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument(
        "--lenient", action="store_true", help="report all, but fail for tracebacks, crashes and points not finite only"
    )
    options = parser.parse_args()

    folder, totals, failures, grave = Path(tempfile.mkdtemp(prefix="random-use-")), Counter(), 0, 0
    start = time.monotonic()
    if options.found or options.replay:
        paths = options.replay or sorted(FOUND.glob("*.json"))
        jobs = [json.loads(path.read_text(encoding="utf-8")) | {"name": path.stem} for path in paths]
        here = characters.list_names()
        print("left out, as the character is not at hand:", [j["name"] for j in jobs if j["character"] not in here])
        jobs = [job for job in jobs if job["character"] in here]
        for job, failure in check(jobs, folder, totals):
            failures, grave = failures + 1, grave + failure.is_grave
            print(f"FAILED {job['name']}: {failure.kind} at step {failure.step}: {failure.text[:2000]}")
    else:
        rng = random.Random(options.seed)
        names = options.characters or [*list(characters.SIMPLE) * 4, *characters.list_names()]
        count = lambda: sum(number for key, number in totals.items() if key[0] == "actions")  # noqa: E731
        while time.monotonic() - start < options.seconds and count() < options.actions:
            for job, failure in check(draw_jobs(rng, names, options.length, options.without), folder, totals):
                failures, grave = failures + 1, grave + failure.is_grave
                report(job, failure, options.into, None if options.no_shrink else folder)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{failures} failures, {time.monotonic() - start:.0f} s")
    print("  slowest:", [(k[1], round(n, 1)) for k, n in totals.most_common() if k[0] == "seconds"][:6])
    used = {key[1]: totals["used", key[1], True] for key in totals if key[0] == "used"}
    print("  used:", ", ".join(f"{name} {count}" for name, count in sorted(used.items())))
    totals = {key: number for key, number in totals.items() if key[0] not in ("seconds", "used")}
    for key, number in sorted(totals.items(), key=str):
        print(f"  {number:6.0f} {' '.join(key) if isinstance(key, tuple) else key}")
    return 1 if (grave if options.lenient else failures) else 0


if __name__ == "__main__":
    sys.exit(main())
