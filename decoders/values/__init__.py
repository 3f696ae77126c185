"""Keys and values of records in, what they hold out: Avro, Protobuf, JSON and others, with the schemas that are known.

```
schemas of files, captures, a cache, a registry ─→ schema_store.py: SchemaStore
bytes and headers ─→ value_decoder.py: ValueDecoder.decode ─→ DecodedValue (schemas_and_decoded_values.py)
value and schema  ─→ encode_values.py: encode_value ─→ bytes
```

Nothing is imported from here before a record is shown, filtered or searched with decoding on; nothing here opens a
file or a connection, nor follows an address in a schema.
"""
