"""Options in, a fold fed with what they choose, its answer written, an exit code out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoders.filters import parse
from kwcli.answers.portraits import PORTRAITS, PortraitRenderer
from kwcli.answers.view import view_of
from kwcli.key_logs import KeyLogFiles, key_log_names
from kwcli.sniff.run import Sniffing, watched

if TYPE_CHECKING:
    from decoders.analysis.doctor.doctor import Doctor
    from kwcli.answers.view import AnswerRenderer
    from kwcli.env import Environment, Exit, Settings
    from kwcli.net.config.client_config import ClientConfig
    from kwcli.options import CaptureOptions, FilterOptions, OutputOptions

__all__ = ["answer", "show_portraits"]


def answer(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    limit: int | None,
    renderer: AnswerRenderer,
) -> Exit:
    """Read what the options name into the renderer's fold; the exit code of reading."""
    sniffing = Sniffing(
        env,
        settings,
        filters.select(capture.times(env, settings.zone)),
        ports=frozenset(capture.ports) or None,
        limit=limit,
        sort=None,
        strict=False,
        view=watched(env, settings, capture, view_of(renderer)),
        key_logs=KeyLogFiles(key_log_names(capture.keylogs, env.variables), follow=capture.is_live),
    )
    return sniffing.run(capture).exit_code()


def look_at(env: Environment, config: ClientConfig, doctor: Doctor, renderer: AnswerRenderer) -> Exit:
    """Have the doctor look at a cluster; what was found before it failed is shown all the same."""
    from kwcli.answers.live_doctor import examine
    from kwcli.env import Exit, Failure

    code = Exit.DONE
    try:
        examine(env, config, doctor)
    except Failure as failure:
        code = Exit(failure.code)  # why, is among the findings

    def write(data: bytes) -> None:
        env.stdout.write(data)

    renderer.open(write).close()
    return code


def show_portraits(
    word: str,
    env: Environment,
    capture: CaptureOptions,
    name: str | None,
    filters: FilterOptions,
    limit: int | None,
    shown: OutputOptions,
) -> Exit:
    """What `kw clients`, `kw groups`, `kw topics` and `kw brokers` do."""
    capture.check()
    settings = shown.settings(env)
    within = parse(capture.times(env, settings.zone)).matches
    return answer(env, settings, capture, filters, limit, PortraitRenderer(PORTRAITS[word], settings, name, within))
