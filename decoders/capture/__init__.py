"""Capture files in, TCP segments out: pcap and pcapng, link types, tunnels, IP fragments, many files by packet time."""
