"""Options about scripts and the control interface in; the deciders of one proxy, in the order they are asked, out.

```
frame ──▶ rules that hold (control) ──▶ script ──▶ faults ──▶ on its way
```

Deciders are asked in this order: a frame that a person releases still goes to the script, and faults come last, like
faults of the network or a broker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import click

from decoders.named_tuple import NamedTuple
from kwcli.option_types import Duration
from kwcli.options import add_options, pass_options_as_value
from kwcli.proxy.repeated_messages import SeenTexts
from kwcli.run_environment import Environment, Exit, Failure

if TYPE_CHECKING:
    from kwcli.proxy.deciding.ask_deciders import Decider, Deciders
    from kwcli.proxy.deciding.control.control_operations import Ring
    from kwcli.proxy.deciding.control.http_control import ControlServer
    from kwcli.proxy.deciding.faults.rule_files import RuleFiles
    from kwcli.proxy.deciding.hold_rules import HoldRules
    from kwcli.proxy.deciding.scripts.script_decider import ScriptDecider
    from kwcli.proxy.node_listeners import Listener
    from kwcli.proxy.relay.relay_connection import Relay

__all__ = ["ScriptAndControl", "ScriptAndControlOptions", "script_and_control_options"]

_HOLD_MS: Final = 25_000.0
_SCRIPT_MS: Final = 2_000.0


class ScriptAndControlOptions(NamedTuple):
    """The options --script, --script-timeout, --control and --hold-timeout as given; times in ms."""

    script: str | None
    script_timeout: float | None
    control: int | None
    hold_timeout: float | None

    def check_usage(self) -> bool:
        """Whether a script or the control interface is asked for. Raises Failure (usage)."""
        if self.script is not None:
            try:
                open(self.script, "rb").close()
            except OSError as error:
                raise Failure(f"--script {self.script}: {error.strerror}", Exit.USAGE) from None
        if self.script is None and self.script_timeout is not None:
            raise Failure("--script-timeout is for a script: it needs --script FILE.py", Exit.USAGE)
        if self.script is None and self.control is None and self.hold_timeout is not None:
            raise Failure("--hold-timeout is for held exchanges: it needs --control PORT or --script", Exit.USAGE)
        return self.script is not None or self.control is not None


def script_and_control_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `ScriptAndControlOptions` to a command, which gets them as `script_and_control`."""
    return add_options(
        pass_options_as_value("script_and_control", ScriptAndControlOptions, ScriptAndControlOptions._fields)(command),
        click.option(
            "--script",
            metavar="FILE.py",
            type=click.Path(dir_okay=False),
            help="Pass exchanges to Python functions, which may change them (kw help scripts).",
        ),
        click.option(
            "--script-timeout",
            type=Duration(),
            metavar="TIME",
            help="Time per function (default: 2s); then the original passes.",
        ),
        click.option(
            "--control",
            type=click.IntRange(0, 65535),
            metavar="PORT",
            help="Accept kw proxy ctl on 127.0.0.1:PORT (kw help control); 0: any port.",
        ),
        click.option(
            "--hold-timeout",
            type=Duration(),
            metavar="TIME",
            help="Hold an exchange at most this long (default: 25s).",
        ),
    )


class ScriptAndControl:
    """Script, control interface and deciders of a proxy. Raises Failure: the script does not load, a port is taken."""

    def __init__(
        self,
        env: Environment,
        options: ScriptAndControlOptions,
        rules: RuleFiles | None,
        *,
        reveal: bool,
        version_decider: Decider | None = None,
    ) -> None:
        """`version_decider` is asked first: no other decider sees a request that is not served."""
        from kwcli.proxy.deciding.ask_deciders import Deciders
        from kwcli.proxy.deciding.control.control_operations import Ring
        from kwcli.proxy.deciding.held_exchanges import HeldExchanges

        self._env = env
        self._notes = SeenTexts()
        self.held = HeldExchanges(env.now_ns, self._say_once, (options.hold_timeout or _HOLD_MS) / 1000)
        self.ring: Ring = Ring()
        self.rules = rules
        self.holds: HoldRules | None = None
        self.server: ControlServer | None = None
        self.script: ScriptDecider | None = None
        if options.control is not None:
            self._open_control(options.control)
        if options.script is not None:
            from kwcli.proxy.deciding.scripts.script_decider import ScriptDecider

            timeout_s = (options.script_timeout or _SCRIPT_MS) / 1000
            try:
                self.script = ScriptDecider(
                    options.script, self.held, self._say_once, timeout_s=timeout_s, reveal=reveal
                )
            except BaseException:
                self.close()
                raise
        asked: list[Any] = [self.holds, self.script, self.rules.faults if self.rules is not None else None]
        present: list[Decider] = [each for each in asked if each is not None]
        self.deciders: Deciders = Deciders(present if version_decider is None else [version_decider, *present])
        for each in (each for each in asked if each is not None):
            each.rules_changed = self.deciders.forget_handlings

    def _open_control(self, port: int) -> None:
        from kwcli.proxy.deciding.control.http_control import ControlServer
        from kwcli.proxy.deciding.hold_rules import HoldRules

        self.holds = HoldRules(self.held)
        self.server = ControlServer(port, self._env.variables)

    def _say_text(self, text: str) -> None:
        self._env.report(f"kw: {text}")

    def _say_once(self, text: str) -> None:
        if self._notes.count_text_and_check_new(text):
            self._say_text(text)

    def format_start_lines(self) -> list[str]:
        """The lines about script and control interface that the proxy prints at its start."""
        out = []
        if self.script is not None:
            out.append(f"script       {self.script.path}")
        if self.server is not None:
            out.append(f"control      http://127.0.0.1:{self.server.port}      token in {self.server.file}")
        return out

    async def serve(
        self,
        relays: Callable[[], Iterable[Relay]],
        listeners: Callable[[], Iterable[Listener]],
        stop: Callable[[], None],
    ) -> None:
        """Serve script and control interface on the running event loop.

        `relays` gives the open connections, `stop` ends the proxy.
        """
        if self.script is not None:
            await self.script.attach()
        if self.server is not None and self.holds is not None and self.rules is not None:
            from kwcli.proxy.deciding.control.control_operations import ControlState
            from kwcli.proxy.node_listeners import list_listener_rows

            await self.server.begin_answering(
                ControlState(
                    lambda: _list_connection_rows(relays()),
                    lambda: list_listener_rows(listeners()),
                    self.ring,
                    self.held,
                    self.holds,
                    self.rules,
                    self._say_text,
                    stop,
                )
            )

    def release_held(self) -> None:
        """Let all held exchanges go on, since the proxy drains."""
        for row in self.held.list_rows():
            self.held.release_exchange(row["id"])

    def close(self) -> None:
        """End the script's process and close the control interface."""
        if self.script is not None:
            self.script.end()
        if self.server is not None:
            self.server.close()

    def format_closing_lines(self) -> list[str]:
        """The lines about the script that the proxy prints at its end."""
        return self.script.format_closing_lines() if self.script is not None else []


def _list_connection_rows(relays: Iterable[Relay]) -> list[dict[str, Any]]:
    return [
        {
            "connection": relay.number,
            "client": relay.peer,
            **({} if relay.via_address is None else {"via_address": relay.via_address}),
            "listener": relay.listener.name,
            "upstream": relay.upstream,
            "in_flight": relay.core.in_flight,
        }
        for relay in relays
    ]
