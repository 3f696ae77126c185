"""Keys and values that real serializers wrote, recorded with real brokers and registries, and what they have to say."""
