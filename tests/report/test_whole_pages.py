"""The whole page of a report, but for style and script, is as it stands in whole_pages/.

`python -m tests.report.test_whole_pages` writes them again: `git diff` shows what a change does to them.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Final

import pytest

from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

PAGES: Final = Path(__file__).with_name("whole_pages")
# Name of a page → the words of its command line, captures by their names.
WORDS: Final = {
    "tour": ("tour.pcapng", "--target", "4.0"),
    "share-groups": ("share-groups.pcapng",),
    "hanging": ("transactions/hanging.pcap.zst",),
    "values": ("values/confluent-avro.pcapng.zst", "first-steps.pcapng"),
}
# What no reader sees: the policy has checksums of style and script.
_UNSEEN: Final = re.compile(r"(?s)<style>.*?</style>\n|<script>.*?</script>\n|<meta http-equiv=[^>]*>\n")


def make_page(name: str, folder: Path) -> str:
    """The page of a report, with a line for each element."""
    page = folder / "page.html"
    words = [str(FOLDER / word) if ".pcap" in word else word for word in WORDS[name]]
    kw("report", *words, "--html", str(page), "-q")
    text = _UNSEEN.sub("", page.read_text()).replace(f"{FOLDER}/", "captures/")
    return re.sub(r"(?<=>)(?=<(?:td|th|tr|g|rect|text|path|circle|line|li|p|div)\b)", "\n", text)


@pytest.mark.parametrize("name", ["tour", *(pytest.param(name, marks=pytest.mark.long) for name in [*WORDS][1:])])
def test_a_page_is_as_it_stands(name: str, tmp_path: Path) -> None:
    found, written = make_page(name, tmp_path).splitlines(), (PAGES / f"{name}.html").read_text().splitlines()
    changes = [pair for pair in zip(written, found, strict=False) if pair[0] != pair[1]][:3]
    assert (changes, len(found)) == ([], len(written)), "if that is better: python -m tests.report.test_whole_pages"


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    for its_name in WORDS:
        with tempfile.TemporaryDirectory() as its_folder:
            (PAGES / f"{its_name}.html").write_text(make_page(its_name, Path(its_folder)))
