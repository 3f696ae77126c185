"""What is faster still for messages that come again and again; without it everything gives the same values."""
