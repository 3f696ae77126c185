"""Tables of the pipeline in, what they say out: as text, as JSON, as one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwcli.config import Settings
    from kwcli.env import Environment


def report(
    env: Environment,
    shown: Settings,
    folder: str,
    *,
    target: str | None = None,
    html_path: str | None = None,
    master: str | None = None,
) -> int:
    """What `kw pipeline report FOLDER` does; the exit code. Failure says in one line why it cannot be done.

    `target`: the release that clients are held against, the newest without it. `html_path`: write a page there instead
    of anything on standard output. `master`: count on Spark.
    """
    from kwcli.pipeline.report.making import make

    return make(env, shown, folder, target=target, html_path=html_path, master=master)
