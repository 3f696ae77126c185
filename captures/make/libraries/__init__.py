"""Client libraries of many releases, recorded to learn what tells them apart."""
