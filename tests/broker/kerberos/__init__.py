"""A Kerberos realm from Maven jars (Apache Kerby): its own KDC, a keytab for the broker and one for a client."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from kwcli.playground.free_ports import find_free_ports
from kwcli.playground.java_process import Process
from tests.broker.jars import download_jars

__all__ = ["Realm"]

_KERBY: Final = "org.apache.kerby:kerb-simplekdc:2.1.0"
_MODULE: Final = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"


class Realm:
    """The realm KW.TEST, with the principals kafka/localhost and alice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kdc: Process | None = None

    def start(self) -> None:
        """Start the KDC; returns when the keytabs are there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        jars = ":".join(map(str, download_jars("kerby-2.1.0", (_KERBY,))))
        (port,) = find_free_ports(1)
        command = ["java", "-Xmx128m", "-cp", jars, str(Path(__file__).parent / "Kdc.java")]
        self._kdc = Process(
            [*command, str(self.folder), str(port), "kafka/localhost", "alice"], self.folder / "kdc.log"
        )
        deadline = time.monotonic() + 60
        while "ready" not in self._kdc.tail():
            if not self._kdc.running or time.monotonic() > deadline:
                raise RuntimeError(f"the KDC does not start: {self._kdc.tail()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End the KDC."""
        if self._kdc is not None:
            self._kdc.terminate()
            self._kdc.wait()

    @property
    def flag(self) -> str:
        """The flag that gives a JVM the realm's configuration."""
        return f"-Djava.security.krb5.conf={self.folder / 'krb5.conf'}"

    def login(self, principal: str) -> str:
        """The sasl.jaas.config of a principal."""
        keytab = self.folder / f"{principal.replace('/', '-')}.keytab"
        return f'{_MODULE} keyTab="{keytab}" principal="{principal}@KW.TEST";'

    def client(self, name: str = "alice") -> dict[str, str]:
        """Properties of a Java client of any release (before 0.10.2 clients took their login from a file only)."""
        file = self.folder / f"{name}.jaas"
        file.write_text(f"KafkaClient {{ {self.login(name)} }};\n")
        return {
            "jvm.flags": f"{self.flag} -Djava.security.auth.login.config={file}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
        }
