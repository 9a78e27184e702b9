"""The same call through every door."""
