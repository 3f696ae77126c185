"""Protobuf: `.proto` text or descriptors in; functions that read and write messages out.

```
.proto text ── proto_text.py ──┐
descriptors ── file_descriptors.py ─┴→ DeclaredFile ─ protobuf_schema.py: link_files ─→ ProtobufSchema
                                                   ├ protobuf_decoder.py bytes → values
                                                   ├ well_known_types.py Timestamp, Struct, Any … ⇄ their JSON forms
                                                   └ protobuf_encoder.py values → bytes
without schema: guess_message.py, by wire types alone
```

Values are those of Protobuf's JSON mapping with three differences, which make them like all else in the record: fields
have the names of the schema, 64-bit numbers are numbers, bytes have the JSON form of bytes. A field without presence
that is not on the wire has its default.

The parser is kw's own: schemas come with captures, so that nothing may recurse on them without bound, and no kept
parser of `.proto` text is made for that; and it starts thirty times as fast as the one that was tried.
"""
