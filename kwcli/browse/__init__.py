"""`kw browse`: captures or live traffic in; a list of exchanges, their messages, bytes and ladders on a terminal out.

Three processes share an unnamed file, the spool, so that no key waits for decoding:

```
captures ─► reader: ReadingRun ─► blocks of packed rows ─► spool ─┬─► screen: unpacks the rows that it draws
                                └─ where each block is ───────────┼─► (a row takes 0.1 byte of memory)
                                                                  └─► searcher: filters, ladders, findings, top
```

The reader settles exchanges as in every command, packs some hundred of them with their frames, not decoded, and writes
them compressed to the spool. All others know blocks by their place in it. The spool is bounded: of files, reading ends
when it is full; of live traffic, the oldest blocks give way. The screen is textual's; nothing else imports it.
"""
