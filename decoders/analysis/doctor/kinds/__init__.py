"""The tables of the kinds of findings, by what they are about; finding_kinds.py joins them."""
