"""The options of `kw pipeline report` in, the report made and written out."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from decoders.apis.releases import RELEASES
from kwcli.env import Exit, Failure
from kwcli.output.units import count_of
from kwcli.spelling import find_release
from kwcli.user_files import keep_mode, open_private

if TYPE_CHECKING:
    from kwcli.env import Environment, Settings

# Format → module of this package, and the function in it.
WRITERS: Final = {"text": ("text", "text"), "ndjson": ("json", "ndjson"), "json": ("json", "json")}


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

    `target`: the release that clients are held against, the newest without it; where it was asked for and turns some
    away, the exit code says so (FINDINGS). `html_path`: write a page there instead
    of anything on standard output. `master`: count on Spark.
    """
    release = RELEASES[-1] if target is None else find_release(target)
    if find_spec("pyarrow") is None or find_spec("numpy") is None:
        raise Failure('reading tables needs pyarrow: install "kw[report]"')
    if html_path is not None and find_spec("plotly") is None:
        raise Failure('--html draws its charts with plotly: install "kw[report]"')
    found = _found(env, folder, release, master, wanted=not shown.quiet)
    old = (found["old_versions"] or {}).get("old") if target is not None else None
    code = Exit.FINDINGS if old else Exit.DONE
    if old and not shown.quiet:
        env.say(f"kw: Kafka {release} turns away {count_of(len(old), 'client')}")
    if html_path is not None:
        from kwcli.pipeline.report.page import page

        _write_file(html_path, page(found).encode("utf-8", "backslashreplace"))
        if not shown.quiet:
            env.say(f"{html_path}: written")
        return code
    module, name = WRITERS[shown.format]
    draw = getattr(import_module(f"kwcli.pipeline.report.{module}"), name)
    env.stdout.write(draw(found, shown).encode("utf-8", "backslashreplace"))
    env.stdout.flush()
    return code


def _found(env: Environment, folder: str, release: str, master: str | None, *, wanted: bool) -> dict[str, Any]:
    from kwcli.pipeline.report.build_report import build_report
    from kwcli.pipeline.report.run_folds import count_all, count_here
    from kwcli.pipeline.report.tables import Tables
    from kwcli.progress import Progress

    tables = Tables(folder)
    if master is not None:
        from kwcli.pipeline.report.run_folds import count_there
        from kwcli.pipeline.spark.sessions import own_session

        with own_session(master, env) as spark:
            return build_report(count_all(tables, count_there(spark, tables)), release)
    progress = Progress(env, None, wanted=wanted)
    try:
        return build_report(count_all(tables, count_here(tables, progress)), release)
    finally:
        progress.hide()


def _write_file(path: str, data: bytes) -> None:
    """A page that was there stays until the new one is whole."""
    target = os.path.realpath(path)
    whole = target if os.path.exists(target) and not os.path.isfile(target) else f"{target}.partial"
    try:
        with open(whole, "wb", opener=open_private) as file:
            file.write(data)
        if whole != target:
            keep_mode(whole, target)
            os.replace(whole, target)
    except OSError as problem:
        if whole != target:
            with suppress(OSError):
                os.unlink(whole)
        raise Failure(f"{path}: {(problem.strerror or str(problem)).lower()}") from None
