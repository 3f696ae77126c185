"""All scenes by name, which is that of their captures."""

from __future__ import annotations

from typing import Final

from tests.serializers import apicurio_scenes, confluent_scenes, more_scenes
from tests.serializers.scene import Scene

__all__ = ["SCENES"]

SCENES: Final[dict[str, Scene]] = {**confluent_scenes.SCENES, **apicurio_scenes.SCENES, **more_scenes.SCENES}
