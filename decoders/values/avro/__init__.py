"""Avro: a schema's text in; functions that read and write its values, and its fingerprint, out.

```
text ─ avro_schema.py: parse_avro_schema ─→ AvroType (a graph, cycles where the schema is recursive)
          ├ avro_walker.py           interprets the types: slow, exact; gives the error with byte and path (the oracle)
          ├ avro_decoder_codegen.py  types → Python source → one function; it fails crudely, and the walker says why
          ├ avro_encoder.py          values → bytes
          └ logical_types.py         decimals, dates, times, UUIDs and durations ⇄ their JSON forms
avro_container_files.py                   files of values with their schema (`Obj\\x01`)
```

What always holds: the function and the walker give the same value for the same bytes, and fail for the same bytes.
"""
