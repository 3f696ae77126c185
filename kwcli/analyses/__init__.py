"""What captures say about who talks and what would break: a fold of `decoders/analysis` each."""
