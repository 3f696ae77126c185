"""Frames that pass the proxy in; decisions about them out, made by rules whose filters the frames match.

The problem. Faults on purpose, scripts, people with `kw proxy ctl`, and releases that the proxy plays (`--as-kafka`)
all want to stop, change or lose single frames. Each has its own way to say which frames it means and what becomes of
them, while the relay must know as little of that as possible, and lose no time with frames that nobody means.

The idea. All of them speak three words:

- a *filter* says which exchanges are meant, in the one filter language; a field of it can be asked for once the data
  path knows it: when a client connects, when the request comes, or when the answer comes;
- a *rule* is a filter and what is done to what it matches: a fault and how often (faults/parse_rule.py), hold for a
  person (hold_rules.py), a function of a script (scripts/script_decider.py), the versions that a release served
  (served_versions.py);
- a *decision* is what a rule makes of one frame (relay/frame_decisions.py): pass, another frame, an answer of our own,
  a delay, a way of delivery, an end of the connection.

A *decider* has the rules of one kind, for all connections; a connection has a decider of its own for what is known of
that client. `Deciders` asks them one after the other, in an order that never changes:

```
          is a rule there for API and version? ── no ──▶ the frame streams through, nothing is kept
          can its filter match header and bytes? ─ no ─▶ "
frame ──▶ served versions ──▶ holds ──▶ script ──▶ faults ──▶ one Decision ──▶ relay
             each sees the frame as those before it have left it; a final decision ends the row
```

What always holds:
- A decider that returns None decides later, by `ConnectionDeciders.finish_decision`; those behind it are asked then.
- What a filter needs besides the frame (names of topic ids, the client's software) is learnt from the broker's own
  answers, never from an answer that a decider made (match_filters.py).
- When rules change (`rules_changed`), nothing that was found out for the old ones is used any more.
- Whatever a rule did to an exchange stands in its record, as `fault` or `refused`, with the number of the rule.

What is given up: an order of one's own among the kinds of rules, and rules about bare SASL tokens, which no decider is
ever shown.

To add a kind of rule: a `Decider` (ask_deciders.py), which with `FilterContext` and `FilteredConnection`
(match_filters.py) is some fifty lines; a row in `ScriptAndControl`. hold_rules.py is the shortest example.
"""
