"""values/: what the serializers of Confluent and Apicurio write, with the traffic of registries, a capture a scene.

    python -m captures.make.values [NAME…]

Needs what brokers need, the packages of `pip install 'confluent-kafka[avro,json,protobuf]' grpcio-tools`, and Maven.
"""

from __future__ import annotations

import sys

from captures.make.stage import FOLDER
from tests.serializers.record_scenes import record_scene
from tests.serializers.scenes import SCENES

if __name__ == "__main__":
    for name in sys.argv[1:] or SCENES:
        record_scene(SCENES[name], FOLDER / "values" / f"{name}.pcapng.zst")
