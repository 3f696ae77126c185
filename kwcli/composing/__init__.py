"""Bodies from what people write: words (`topics[].name=orders`), JSON and YAML in, bodies in JSON form out."""
