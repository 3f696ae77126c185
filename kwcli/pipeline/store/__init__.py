"""A folder of tables: what it covers, how a run replaces all of them at once, and who may write to it."""
