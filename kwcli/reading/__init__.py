"""The inputs of a run: captures and records in files, pipes and folders, and the key logs of their TLS."""
