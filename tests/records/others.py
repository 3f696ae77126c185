"""Record builders and readers of kafka-python and aiokafka, for tests that need an independent implementation."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its resources the old way
    from aiokafka.record.default_records import (  # type: ignore[import-untyped]  # it has no types
        DefaultRecordBatchBuilder as AioBuilder,
    )
    from aiokafka.record.legacy_records import (  # type: ignore[import-untyped]  # it has no types
        LegacyRecordBatchBuilder as AioLegacyBuilder,
    )
    from aiokafka.record.memory_records import (  # type: ignore[import-untyped]  # it has no types
        MemoryRecords as AioMemoryRecords,
    )
    from kafka.record import MemoryRecords  # type: ignore[import-untyped]  # it has no types
    from kafka.record.default_records import (  # type: ignore[import-untyped]  # it has no types
        DefaultRecordBatchBuilder,
    )
    from kafka.record.legacy_records import (  # type: ignore[import-untyped]  # it has no types
        LegacyRecordBatchBuilder,
    )

__all__ = [
    "AioBuilder",
    "AioLegacyBuilder",
    "AioMemoryRecords",
    "DefaultRecordBatchBuilder",
    "LegacyRecordBatchBuilder",
    "MemoryRecords",
]
