"""Scripts: Python functions that see and may change frames that pass the proxy, in a process of their own."""
