"""The handbook: one Markdown file a topic, shown by `kw help TOPIC`."""
