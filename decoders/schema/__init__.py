"""Declarations and bytes in, Python values or JSON forms out, and back; no Kafka API is named here.

All ways to read a message, from the declaration down:

```
declaration (text)
  └ api_declaration.py: parse        once                    → Message: fields with version ranges
      └ api_declaration.py: resolve  one version             → Plan: the fields of that version, in order
          ├ plan_walker.py   interpret the plan: slow, exact; gives paths, spans and the error  (the oracle)
          ├ lazy_decoder.py  the first messages: by the walker, no code is generated
          ├ decoder_codegen.py  many of a kind: Python source of one function (codegen_support.py writes its lines)
          │   ├ values       as Python values
          │   ├ JSON form    body_json_form.py: what records show
          │   └ projection   field_projection.py: only the fields that are asked for, the rest is stepped over; by the
          │                  walker where messages are rare
          └ defer_long_arrays.py      bodies above BODY_WHOLE_MAX: long arrays are read while the output is written
and back:  body_json_form.py (JSON form → values), encoder_codegen.py (source of an encoder), plan_walker.py (exact
errors)
```

What always holds: all ways give the same value for the same bytes, and fail for the same bytes. Only the walker says
where and why: generated code fails with one of `codegen_support.CRUDE`, and `decode_and_encode.py` then asks the
walker. Code is never generated at import, and no generated code is kept in the repository; the handbook's page for
contributors says how to print it.
"""
