"""Requests that brokers refuse: what was asked, what the broker says, what was changed before, what else is known."""
