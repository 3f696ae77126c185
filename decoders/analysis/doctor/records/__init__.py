"""What is wrong with the bytes of batches."""
