"""Traffic of schema registries in, the schemas that it tells out."""
