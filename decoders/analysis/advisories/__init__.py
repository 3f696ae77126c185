"""Published advisories held against traffic: who is affected, and which attacks and triggers a capture shows."""
