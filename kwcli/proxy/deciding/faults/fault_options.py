"""The options --fault, --faults and --seed in, fault rules out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from decoders.named_tuple import NamedTuple
from kwcli.options import add_options, pass_options_as_value
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.proxy.deciding.faults.rule_files import RuleFiles

__all__ = ["FaultOptions", "fault_options"]


class FaultOptions(NamedTuple):
    """Rules (`fault`), files of rules or presets (`faults`), and the seed of their random numbers, as given."""

    fault: tuple[str, ...]
    faults: tuple[str, ...]
    seed: int | None

    def read_rules(self, now_ns: Callable[[], int], *, controlled: bool = False) -> RuleFiles | None:
        """The rules; None where there are none, and none can be added later (`controlled`). Raises Failure."""
        if not self.fault and not self.faults and not controlled:
            if self.seed is not None:
                raise Failure("--seed is for faults: it needs --fault, --faults or --control", Exit.USAGE)
            return None
        from kwcli.proxy.deciding.faults.rule_files import RuleFiles

        seed = self.seed if self.seed is not None else now_ns() % 1_000_000
        return RuleFiles(self.fault, self.faults, seed, now_ns)


def fault_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about faults to a command, which gets them as `faults`."""
    return add_options(
        pass_options_as_value("faults", FaultOptions, FaultOptions._fields)(command),
        click.option(
            "--fault",
            multiple=True,
            metavar="RULE",
            help="Inject a fault: 'ACTION[, LIMIT]…[, when FILTER]' (kw help faults); repeatable.",
        ),
        click.option(
            "--faults",
            multiple=True,
            metavar="FILE|preset:NAME",
            help="Fault rules from a file, one per line, reread when it changes; or a preset.",
        ),
        click.option("--seed", type=int, metavar="N", help="Random seed, to repeat the same faults."),
    )
