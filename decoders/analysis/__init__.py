"""Folds over exchanges: each takes exchanges one by one, merges with others of its kind, and gives rows.

Split the exchanges anywhere, merge in any order, hand states over in between: the rows are the same. So one machine and
a cluster run the same code.
"""
