"""Exchanges in, a row for each transactional id out: its latest transaction, and what it holds back."""
