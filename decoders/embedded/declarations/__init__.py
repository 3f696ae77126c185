"""Declarations of the structures in bytes fields, one module for each place where they occur; nothing else."""
