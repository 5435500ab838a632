"""Run a step, or one chunk of it, as a worker of a farm does, and print what it has understood of the program's lines.

Runs in the environment of openjd-cli: `python engine_session.py TEMPLATE VALUES STEP [CHUNK]`; the answer is JSON.
"""

import json
import sys
import time
from pathlib import Path

from openjd.model import (
    IntRangeExpr,
    ParameterValue,
    ParameterValueType,
    create_job,
    decode_job_template,
    preprocess_job_parameters,
)
from openjd.sessions import ActionState, Session


def main(template_path: str, values: str, step_name: str, *chunks: str) -> None:
    path = Path(template_path)
    template = decode_job_template(
        template=json.loads(path.read_text(encoding="utf-8")), supported_extensions=["TASK_CHUNKING"]
    )
    parameters = preprocess_job_parameters(
        job_template=template,
        job_parameter_values=json.loads(values),
        job_template_dir=path.parent,
        current_working_dir=Path.cwd(),
    )
    job = create_job(job_template=template, job_parameter_values=parameters)
    step = next(step for step in job.steps if step.name == step_name)
    seen = []
    with Session(
        session_id="test",
        job_parameter_values=parameters,
        callback=lambda _, status: seen.append((status.state, status.progress, status.fail_message)),
    ) as session:
        ranges = [ParameterValue(type=ParameterValueType.CHUNK_INT, value=IntRangeExpr.from_str(one)) for one in chunks]
        given = dict(zip(("Chunk",), ranges, strict=False))
        session.run_task(step_script=step.script, task_parameter_values=given)
        while seen[-1][0] == ActionState.RUNNING:
            time.sleep(0.05)
    progress = [progress for _, progress, _ in seen if progress is not None]
    print(json.dumps({"state": seen[-1][0].value, "progress": progress, "reason": seen[-1][2]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
