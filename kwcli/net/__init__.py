"""Connections to brokers: configuration, connectors, sessions, and the cluster behind them."""
