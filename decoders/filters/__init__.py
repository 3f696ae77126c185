"""One filter language for exchanges: an expression as text in, a question about exchanges out.

```
api == Fetch and latency > 100ms
topic ~ "^orders" or client_id like "billing-*"
error == NOT_LEADER_OR_FOLLOWER and not client in (10.0.0.0/8, 192.168.1.7)
request.max_wait_ms >= 500 and response_size > 1MiB
```
"""

from __future__ import annotations

from decoders.errors import FilterError
from decoders.filters.filter_field_table import FIELDS, Phase
from decoders.filters.parse_expression import Filter, parse

__all__ = ["FIELDS", "Filter", "FilterError", "Phase", "parse"]
