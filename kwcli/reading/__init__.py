"""How every command reads: captures, records, live traffic and tables in, rows for a sink out."""
