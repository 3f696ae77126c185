"""The rows of a run in; shown, counted, written to the output or told to others out."""
