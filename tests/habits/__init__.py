"""What people type first: command lines as data, each with its exit code and what must appear."""
