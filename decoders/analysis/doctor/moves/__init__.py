"""What controllers do with replicas and brokers: moves that do not end, and brokers that stay fenced."""
