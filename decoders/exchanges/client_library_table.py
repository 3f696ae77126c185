"""What client libraries do that do not say their name: a literal table.

Made by `captures/make/libraries/table.py`. Rows of a library stand in the order of its releases.
"""

from __future__ import annotations

from typing import Final

from decoders.exchanges.find_client_library import Fingerprint

__all__ = ["LIBRARIES"]

LIBRARIES: Final[tuple[Fingerprint, ...]] = (
    Fingerprint(
        "apache-kafka-java",
        None,
        "0.8",
        {0: 0, 3: 0},
        {0: ("30000",), 3: ("-",)},
    ),
    Fingerprint(
        "apache-kafka-java",
        "0.9.0",
        "0.9.0",
        {0: 1, 1: 1, 2: 0, 3: 0, 8: 2, 9: 1, 10: 0, 11: 0, 13: 0, 14: 0},
        {0: ("30000",), 1: ("500 1 - 1048576",), 3: ("-",), 11: ("consumer range",)},
    ),
    Fingerprint(
        "apache-kafka-java",
        "0.10.0",
        "0.10.1",
        {0: 2, 1: 2, 2: 0, 3: 1, 8: 2, 9: 1, 10: 0, 11: 0, 13: 0, 14: 0},
        {0: ("30000",), 1: ("500 1 - 1048576",), 3: ("-",), 11: ("consumer range",)},
    ),
    Fingerprint(
        "apache-kafka-java",
        "0.10.1",
        "0.10.2",
        {0: 2, 1: 3, 2: 1, 3: 2, 8: 2, 9: 2, 10: 0, 11: 1, 13: 0, 14: 0, 18: 0},
        {0: ("30000",), 1: ("500 1 52428800 1048576",), 3: ("-",), 11: ("consumer range",)},
    ),
    Fingerprint(
        "apache-kafka-java",
        "0.11.0",
        "0.11.0",
        {0: 3, 1: 5, 2: 2, 3: 4, 8: 3, 9: 3, 10: 1, 11: 2, 13: 1, 14: 1, 18: 1},
        {0: ("30000",), 1: ("500 1 52428800 1048576",), 3: ("true",), 11: ("consumer range",)},
    ),
    Fingerprint(
        "apache-kafka-java",
        "1.0",
        "1.1",
        {0: 5, 1: 6, 2: 2, 3: 5, 8: 3, 9: 3, 10: 1, 11: 2, 13: 1, 14: 1, 18: 1},
        {0: ("30000",), 1: ("500 1 52428800 1048576",), 3: ("true",), 11: ("consumer range",)},
    ),
    Fingerprint(
        "apache-kafka-java",
        "1.1",
        "2.0",
        {0: 6, 1: 8, 2: 3, 3: 6, 8: 4, 9: 4, 10: 2, 11: 3, 13: 2, 14: 2, 18: 2},
        {0: ("30000",), 1: ("500 1 52428800 1048576",), 3: ("true",), 11: ("consumer range",)},
    ),
    Fingerprint(
        "apache-kafka-java",
        "2.1",
        "2.2",
        {0: 7, 1: 10, 2: 4, 3: 7, 8: 6, 9: 5, 10: 2, 11: 3, 13: 2, 14: 2, 18: 2},
        {0: ("30000",), 1: ("500 1 52428800 1048576",), 3: ("true",), 11: ("consumer range",)},
    ),
    Fingerprint(
        "apache-kafka-java",
        "2.2",
        "2.3",
        {0: 7, 1: 11, 2: 5, 3: 8, 8: 7, 9: 5, 10: 2, 11: 5, 13: 2, 14: 3, 18: 2},
        {0: ("30000",), 1: ("500 1 52428800 1048576",), 3: ("true",), 11: ("consumer range",)},
    ),
    Fingerprint(
        "kafka-python",
        None,
        "1.4",
        {0: 3, 1: 4, 2: 1, 3: 1, 8: 2, 9: 1, 10: 0, 11: 2, 13: 1, 14: 1, 18: 0},
        {0: ("30000",), 1: ("500 1 52428800 1048576",), 3: ("-",), 11: ("consumer range,roundrobin",)},
    ),
    Fingerprint(
        "kafka-python",
        "2.0",
        "2.0",
        {0: 7, 1: 4, 2: 1, 3: 1, 8: 2, 9: 1, 10: 0, 11: 2, 13: 1, 14: 1, 18: 0},
        {0: ("30000",), 1: ("500 1 52428800 1048576",), 3: ("-",), 11: ("consumer range,roundrobin",)},
    ),
    Fingerprint(
        "aiokafka",
        None,
        "0.12",
        {0: 7, 1: 4, 2: 1, 3: 1, 8: 2, 9: 1, 10: 1, 11: 5, 13: 1, 14: 3, 18: 0},
        {0: ("40000",), 1: ("500 1 52428800 1048576",), 3: ("-",), 11: ("consumer roundrobin",)},
    ),
    Fingerprint(
        "aiokafka",
        "0.12",
        None,
        {0: 7, 1: 4, 2: 3, 3: 5, 8: 3, 9: 3, 10: 1, 11: 5, 13: 1, 14: 3, 18: 0},
        {0: ("40000",), 1: ("500 1 52428800 1048576",), 3: ("true",), 11: ("consumer roundrobin",)},
    ),
    Fingerprint(
        "kafkajs",
        None,
        "1.14",
        {0: 5, 1: 7, 2: 2, 3: 5, 8: 3, 9: 3, 10: 1, 11: 2, 12: 1, 13: 1, 14: 1, 18: 2},
        {0: ("30000",), 1: ("5000 1 10485760 1048576",), 3: ("true",), 11: ("consumer RoundRobinAssigner",)},
    ),
    Fingerprint(
        "kafkajs",
        "1.13",
        "1.16",
        {0: 7, 1: 11, 2: 3, 3: 6, 8: 5, 9: 4, 10: 2, 11: 5, 12: 3, 13: 3, 14: 3, 18: 2},
        {0: ("30000",), 1: ("5000 1 10485760 1048576",), 3: ("true",), 11: ("consumer RoundRobinAssigner",)},
    ),
    Fingerprint(
        "kafkajs",
        "1.16",
        None,
        {0: 7, 1: 11, 2: 3, 3: 6, 8: 5, 9: 4, 10: 2, 11: 5, 13: 3, 14: 3, 18: 2},
        {0: ("30000",), 1: ("5000 1 10485760 1048576",), 3: ("true",), 11: ("consumer RoundRobinAssigner",)},
    ),
    Fingerprint(
        "sarama",
        None,
        None,
        {0: 3, 1: 4, 2: 1, 3: 5, 8: 1, 9: 1, 10: 0, 11: 1, 12: 0, 13: 0, 14: 0},
        {0: ("10000",), 1: ("250 1 104857600 1048576",), 3: ("false",), 11: ("consumer range",)},
    ),
    Fingerprint(
        "sarama",
        None,
        None,
        {0: 3, 1: 4, 2: 1, 3: 5, 8: 1, 9: 1, 10: 1, 11: 1, 12: 0, 13: 0, 14: 0},
        {0: ("10000",), 1: ("500 1 104857600 1048576",), 3: ("false",), 11: ("consumer range",)},
    ),
    Fingerprint(
        "sarama",
        None,
        None,
        {0: 7, 1: 10, 2: 4, 3: 7, 8: 6, 9: 1, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2},
        {
            0: ("10000",),
            1: ("500 1 104857600 1048576",),
            3: (
                "false",
                "true",
            ),
            11: ("consumer range",),
        },
    ),
    Fingerprint(
        "sarama",
        None,
        None,
        {0: 7, 1: 10, 2: 4, 3: 7, 8: 6, 9: 5, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2},
        {
            0: ("10000",),
            1: ("500 1 104857600 1048576",),
            3: (
                "false",
                "true",
            ),
            11: ("consumer range",),
        },
    ),
    Fingerprint(
        "kafka-go",
        None,
        "0.4",
        {0: 8, 1: 10, 2: 1, 3: 8, 8: 2, 9: 1, 10: 0, 11: 1, 13: 0, 14: 0, 18: 0},
        {
            0: ("4999",),
            1: ("8999 1 1000067 1000067",),
            3: (
                "-",
                "false",
            ),
            11: ("consumer range,roundrobin",),
        },
    ),
    Fingerprint(
        "kafka-go",
        "0.4",
        None,
        {0: 8, 1: 10, 2: 1, 3: 8, 8: 2, 9: 1, 10: 0, 11: 2, 13: 0, 14: 0, 18: 0},
        {
            0: ("4999",),
            1: ("8999 1 1000067 1000067",),
            3: (
                "false",
                "true",
            ),
            11: ("consumer range,roundrobin",),
        },
    ),
)
