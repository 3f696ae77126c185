"""What only `kw sniff` does: the packets of the rows that it shows, cut out of captures."""
