"""What members of a group have to do with each other: what they ask for, what they get, how far they have come."""
