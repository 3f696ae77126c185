"""Rules of faults as people write them in, frames that go wrong exactly so out."""
