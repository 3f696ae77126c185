"""The machine that understands declarations: it names no Kafka API; Python values, JSON forms and bytes go in and out.

All ways to read a message, from the declaration down:

```
declaration (text)
  └ model.py: parse        once                    → Message: fields with version ranges
      └ model.py: resolve  one version             → Plan: the fields of that version, in order
          ├ walk.py          interpret the plan: slow, exact; gives paths, spans and the error  (the oracle)
          ├ codec.py         the first messages: by the walker, no code is generated
          ├ decode.py        many of a kind: Python source of one function (of steps that emit.py writes)
          │   ├ values       as Python values
          │   ├ JSON form    json_form.py: what records show
          │   └ projection   projection.py: only the fields that somebody asked for, the rest is stepped over; and the
          │                  same by the walker, for messages that are rare
          ├ specialize/      very many whole messages of a kind: more functions beside the first one
          │   ├ learn.py        small messages of one size, in one unpack
          │   └ speculate.py    elements of a large array, read as if they all were like a sample
          └ large_body.py      bodies above BODY_WHOLE_MAX: long arrays are read while they are written
and back:  json_form.py (JSON form → values), encode.py (source of an encoder), walk.py (plain, exact errors)
```

What always holds: every way gives the same value for the same bytes, and all of them fail for the same bytes. Only the
walker says where and why: generated code fails crudely (`emit.CRUDE`), and `codec.py` then asks the walker. Code
is never generated at import, and no generated code is kept in the repository; the handbook's page for contributors says
how to print it.
"""
