"""The JSON of a Produce in, the offset of the first record of each of its batches out, as the answer gives it."""

from __future__ import annotations

from typing import Any

__all__ = ["find_produced_offsets"]


def find_produced_offsets(record: dict[str, Any]) -> dict[str, int]:
    """The path of a batch in the request → the offset of its first record; of batches that the broker took alone."""
    request, response = record.get("request"), record.get("response")
    if record.get("api") != "Produce" or not isinstance(request, dict) or not isinstance(response, dict):
        return {}
    taken = {
        (topic.get("name"), topic.get("topic_id"), answer.get("index")): answer["base_offset"]
        for topic in response.get("responses") or ()
        for answer in topic.get("partition_responses") or ()
        if not answer.get("error_code") and isinstance(answer.get("base_offset"), int) and answer["base_offset"] >= 0
    }
    found: dict[str, int] = {}
    for at, topic in enumerate(request.get("topic_data") or ()):
        for place, asked in enumerate(topic.get("partition_data") or ()):
            offset = taken.get((topic.get("name"), topic.get("topic_id"), asked.get("index")))
            for number, batch in enumerate(asked.get("records") or ()):
                if offset is None or not isinstance(batch, dict):
                    break
                found[f"topic_data[{at}].partition_data[{place}].records[{number}]"] = offset
                count = batch.get("record_count")
                offset = offset + count if isinstance(count, int) else None
    return found
