"""A capture in, the screen of `kw browse` on a terminal of a test out, its processes done in this one, step by step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kwcli.browse.app import BrowseApp
from kwcli.browse.background_processes.read_into_spool import SpoolingRun
from kwcli.browse.background_processes.search_spool import Searcher
from kwcli.browse.background_processes.spool import Spool, SpooledRows
from kwcli.browse.background_work_and_source import Source
from kwcli.capture_options import CaptureOptions
from kwcli.options import ContentOptions, FilterOptions
from kwcli.output.facts.line_fact_functions import facts_paths
from kwcli.output.output_settings import Settings
from kwcli.output.renderers import WantedPaths
from kwcli.run_environment import Environment
from tests.cli.worlds import world

if TYPE_CHECKING:
    from textual.pilot import Pilot

TOUR = "captures/tour.pcapng"


class LocalWork:
    """The reader and the searcher in this process. `held`: messages of the reader that do not come yet."""

    def __init__(self, run: SpoolingRun, spool: Spool, settings: Settings) -> None:
        self.held: deque[Any] = deque()
        self.answers: deque[Any] = deque()
        self.asked: list[Any] = []
        self.stopped = False
        self.searcher = Searcher(SpooledRows(spool, WantedPaths()), settings, self.answers.append)
        run.read(self.held.append)
        self.waits = False

    def collect_messages(self, most: int) -> list[Any]:
        """What has come."""
        found: list[Any] = []
        while self.held and len(found) < most and not self.waits:
            self.searcher.handle_message(self.held[0])
            found.append(self.held.popleft())
        self.searcher.work_on_questions()
        while self.answers:
            found.append(self.answers.popleft())
        return found

    def send_question(self, question: Any) -> None:
        """Ask the searcher."""
        self.asked.append(question)
        self.searcher.handle_message(question)

    def stop(self) -> None:
        """Note that the processes were ended."""
        self.stopped = True


class Browsing:
    """One screen over captures."""

    def __init__(
        self,
        *files: str,
        text: str = "",
        live: bool = False,
        color: bool = True,
        reveal: bool = False,
        env: Environment | None = None,
        capacity: int = 1 << 30,
        ports: tuple[int, ...] = (),
        columns: tuple[str, ...] = (),
        order: str = "",
    ) -> None:
        self.env = env or world()
        self.env.monotonic = lambda: 0.0  # blocks are as large as their rows are many, however slowly they are read
        content = ContentOptions(records=True, reveal_secrets=reveal)
        # The reader, the searcher and the screen each have a reader of values of their own, as processes have.
        its, searching, self.settings = (
            content.make_settings_with_values(Settings(color=color, columns=columns), self.env) for _ in range(3)
        )
        self.spool = Spool(capacity)
        capture = CaptureOptions(files or (TOUR,), ports=ports)
        run = SpoolingRun(self.env, its, capture, FilterOptions(), self.spool)
        run.open_files()
        self.work = LocalWork(run, self.spool, searching)
        self.rows = SpooledRows(self.spool, WantedPaths(facts_paths))
        source = Source("tour.pcapng", None if live else run.size, capture)
        source.live = live
        self.app = BrowseApp(self.env, self.settings, self.rows, self.work, source, text, order)
        # Messages are taken by `settle` alone: what a key finds does not depend on how fast the machine is.
        self.app.set_interval = lambda *_: None  # type: ignore[assignment,method-assign]

    def screen_lines(self) -> list[str]:
        """The text on the screen."""
        return ["".join(segment.text for segment in strip) for strip in self.app.screen._compositor.render_strips()]

    @property
    def screen_text(self) -> str:
        """The text on the screen, as one text."""
        return "\n".join(line.rstrip() for line in self.screen_lines())

    async def settle(self, pilot: Pilot[int]) -> None:
        """Take all that is to come, until nothing changes."""
        for _ in range(500):
            self.app.apply_new_messages()
            await pilot.pause()
            while self.app.waiting_keys.is_busy and self.app.return_value is None:
                await pilot.pause()
            reading = self.app.message_pane.is_reading
            if (not self.work.held or self.work.waits) and not self.searching and not reading:
                break
            if reading:
                await pilot.pause(0.001)
        self.app.apply_new_messages()
        await pilot.pause()

    async def wait_for_pause(self, pilot: Pilot[int]) -> None:
        """Wait until a filter that is typed is tried."""
        await pilot.pause()
        while self.app._pause is not None:
            await pilot.pause(0.02)

    @property
    def searching(self) -> bool:
        """Whether the searcher still has blocks to look at."""
        return bool(self.work.answers) or self.work.searcher.work_on_questions() or bool(self.work.answers)


Steps = Callable[[Browsing, "Pilot[int]"], Any]


def run_steps(browsing: Browsing, steps: Steps, size: tuple[int, int] = (80, 24)) -> Browsing:
    """Run steps on the screen."""
    import asyncio

    async def run() -> None:
        async with browsing.app.run_test(size=size) as pilot:
            await browsing.settle(pilot)
            await steps(browsing, pilot)

    asyncio.run(run())
    return browsing
