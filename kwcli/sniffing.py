"""Inputs, settings and filters in, rows on standard output and a closing line out: what `kw sniff` does.

One loop for files, pipes and live captures: bytes → segments → exchanges → filter → renderer. Whatever ends it,
what was decoded before is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Final, NamedTuple

from decoders.capture.reader import CaptureReader
from decoders.exchanges.engine import Engine
from decoders.exchanges.exchange import Skipped
from kwcli.exits import Exit
from kwcli.inputs import placed
from kwcli.merging import Captures
from kwcli.progress import Progress
from kwcli.render import Needs, Renderer, Wanted, Write, needs, open_renderer
from kwcli.summary import LOSSY, closing_lines, exchanges, is_lossy, left_over

if TYPE_CHECKING:
    from collections.abc import Iterable

    from decoders.errors import DecodeError
    from decoders.exchanges.exchange import Settled
    from decoders.filters import Filter
    from kwcli.config import Settings
    from kwcli.env import Environment
    from kwcli.options import CaptureOptions

__all__ = ["SniffOutcome", "SniffView", "Sniffing"]

WRITE_SIZE: Final = 1 << 20


class Output:
    """Standard output in pieces of about 1 MiB, or at once where rows are wanted promptly."""

    def __init__(self, env: Environment, progress: Progress, *, prompt: bool) -> None:
        self._stdout = env.stdout
        self._progress = progress
        self._prompt = prompt
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Take bytes; they may wait for more."""
        self._parts.append(data)
        self._size += len(data)
        if self._size >= WRITE_SIZE:
            self.flush()

    def settle(self) -> None:
        """The end of a batch: rows that are wanted promptly go out."""
        if self._prompt and self._parts:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        parts, self._parts, self._size = self._parts, [], 0
        if parts:
            self._progress.hide()
            left = memoryview(b"".join(parts))
            while left:  # an unbuffered stream (PYTHONUNBUFFERED) may take a part
                left = left[self._stdout.write(left) :]
            self._stdout.flush()


class SniffOutcome:
    """How it ended."""

    def __init__(self, *, strict: bool) -> None:
        self.problems: list[str] = []
        self.interrupted = False
        self.unwritten = False  # packets that were to be kept are not
        self.strict = strict
        self.lossy = False

    def exit_code(self) -> Exit:
        """The exit code; loss counts only when it is asked for. A live capture mostly ends by being interrupted."""
        if self.unwritten:
            return Exit.FAILURE
        if self.interrupted:
            return Exit.INTERRUPTED
        if self.problems:
            return Exit.FAILURE
        return Exit.LOSSY if self.strict and self.lossy else Exit.DONE


class SniffView(NamedTuple):
    """What becomes of the exchanges, where that is not what `-o` says: what it reads of bodies, and its renderer."""

    needs: Needs
    open: Callable[[Write], Renderer]


class Sniffing:
    """One run."""

    def __init__(
        self,
        env: Environment,
        settings: Settings,
        selection: Filter,
        *,
        ports: frozenset[int] | None,
        limit: int | None,
        sort: bool,
        strict: bool,
        view: SniffView | None = None,
    ) -> None:
        view = view or SniffView(needs(settings), partial(open_renderer, settings))
        self._env = env
        self._settings = settings
        self._selection = selection
        self._ports = ports
        self._engine = Engine(ports=ports, needs=Wanted(view.needs, selection.needs))
        self._left = limit
        self._sorted: list[Settled] | None = [] if sort else None
        self._shown = 0
        self._outcome = SniffOutcome(strict=strict)
        self._begun = env.monotonic()
        self._progress = Progress(env, None, wanted=not settings.quiet)
        self._output = Output(env, self._progress, prompt=settings.prompt)
        self._renderer = view.open(self._output.write)

    def run(self, capture: CaptureOptions) -> SniffOutcome:
        """Decode what the options name: an interface, or files."""
        if capture.interface:
            return self.live(capture.interface, capture.bpf, capture.write)
        return self.files(capture.files)

    # -- files, pipes --------------------------------------------------------------------------------------------------

    def files(self, names: Iterable[str]) -> SniffOutcome:
        """Decode files (`-`: standard input), merged by packet time. Bad inputs are told after the good ones."""
        captures = Captures(names, self._env)
        try:
            self._progress.expect(captures.size)
            self._decode(captures)
        finally:
            captures.close()
        return self._outcome

    def _decode(self, captures: Captures) -> None:
        finish = True
        try:
            for segments in captures:
                if not self._emit(self._engine.feed(segments)):
                    finish = False
                    break
                self._progress.show(captures.taken, self._engine.summary.exchanges)
        except KeyboardInterrupt:
            self._outcome.interrupted = True
            finish = False
        self._settle(finish=finish)
        self._outcome.problems += captures.problems
        for name, problem in captures.cut():
            self._outcome.problems.append(self._cut_short(name, problem, alone=captures.count == 1))
        self._end(captures.counts(), told=captures.count > 0)

    def _cut_short(self, name: str, problem: DecodeError, *, alone: bool) -> str:
        before = "what came before it is shown"
        if alone:
            total = self._engine.summary.exchanges
            verb = "is" if self._shown == total == 1 else "are"
            before = f"{exchanges(self._shown, total)} before it {verb} shown"
        return f"{name}: {placed(problem.text, problem.offset)}; {before}"

    # -- live ----------------------------------------------------------------------------------------------------------

    def live(self, interface: str, bpf: str | None, write: str | None) -> SniffOutcome:
        """Decode what an interface carries until it is interrupted."""
        from kwcli.live import Live, PacketFile

        kept = PacketFile(write, self._env) if write else None
        capture = Live(interface, bpf, self._env)
        reader = CaptureReader()
        finish = True
        try:
            if not self._settings.quiet:
                self._env.say(f"kw: listening on {interface}; Ctrl-C ends")
            for piece in capture.stream():
                if kept is not None:
                    kept.write(piece)
                if not self._emit(self._engine.feed(reader.feed(piece), self._env.now_ns())):
                    finish = False
                    break
        except KeyboardInterrupt:
            self._outcome.interrupted = True
        finally:
            dropped, block = capture.statistics()
            capture.close()
            if kept is not None:
                kept.write(block)
                kept.close()
                self._outcome.unwritten = kept.failed
        self._settle(finish=finish)
        self._end(reader.counts, dropped=dropped)
        return self._outcome

    # -- both ----------------------------------------------------------------------------------------------------------

    def _emit(self, rows: list[Settled]) -> bool:
        """Filter and show rows; False when as many as wanted have been shown."""
        if not rows:
            return True
        if self._outcome.strict and not self._outcome.lossy:
            # Every exchange is decoded for this, also those that nobody sees.
            self._outcome.lossy = any(row.kind == "exchange" and row.status in LOSSY for row in rows)
        if self._ports is not None:
            # Who names ports does not want to read about all the others; the closing line counts them.
            rows = [row for row in rows if row.kind == "exchange" or row.reason != "not_kafka"]
        if not self._selection.everything:
            wants = self._selection.matches
            self._renderer.notice(rows)
            rows = [row for row in rows if row.kind == "exchange" and wants(row)]
        if self._sorted is not None:
            self._sorted += rows
            return True
        return self._show(rows)

    def _show(self, rows: list[Settled]) -> bool:
        if self._left is not None:
            rows = self._first(rows)
        self._shown += len(rows) - sum(map(isinstance, rows, repeat(Skipped)))
        self._renderer.write(rows)
        self._output.settle()
        return self._left is None or self._left > 0

    def _first(self, rows: list[Settled]) -> list[Settled]:
        """As many rows as the limit leaves; rows that the format does not show do not count."""
        assert self._left is not None
        kept: list[Settled] = []
        for row in rows:
            if self._left == 0:
                break
            kept.append(row)
            if row.kind == "exchange" or self._renderer.shows_skipped:
                self._left -= 1
        return kept

    def _settle(self, *, finish: bool) -> None:
        """Show what is open where the inputs have ended, and what was kept to be sorted."""
        if finish:
            self._emit(self._engine.finish())
        if self._sorted is not None:
            rows, self._sorted = sorted(self._sorted, key=lambda row: row.time_ns), None
            self._show(rows)

    def _end(self, counted: Mapping[str, int], *, dropped: int | None = None, told: bool = True) -> None:
        """Close the output, then say how it went; `counted` is what the readers have counted."""
        self._renderer.close()
        self._output.flush()
        self._progress.hide()
        for problem in self._outcome.problems:
            self._env.say(f"kw: {problem}")
        summary = self._engine.summary
        counts = Counter(self._engine.reassembly.counts)
        counts.update(counted)
        passed_over = left_over(counts)
        if is_lossy(summary) or passed_over or dropped:
            self._outcome.lossy = True
        if not self._settings.quiet and told:
            lines = closing_lines(
                summary,
                shown=self._shown,
                errors=self._renderer.errors,
                undecoded=self._renderer.undecoded,
                packets=counts["packets"],
                seconds=self._env.monotonic() - self._begun,
                passed_over=passed_over,
            )
            self._env.say(self._fitting(lines, "" if dropped is None else f" · {dropped:,} dropped by the kernel"))

    def _fitting(self, lines: list[str], more: str) -> str:
        """The longest line that the terminal has room for."""
        width = self._env.columns if self._env.stderr_terminal else None
        fitting = (line for line in lines if width is None or len(line) + len(more) <= width)
        return next(fitting, lines[-1]) + more
