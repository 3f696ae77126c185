"""Exchanges in, what each client, broker and topic did out: folds of `kw clients`, `kw brokers` and `kw topics`."""
