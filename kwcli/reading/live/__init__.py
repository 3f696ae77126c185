"""Traffic as it comes: commands that write a capture, pipes and interfaces, several at once, merged by time."""
