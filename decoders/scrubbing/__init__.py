"""Frames, packets and names in; the same without anybody's names and secrets out, every length as it was."""
