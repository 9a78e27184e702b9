"""Pilothouse: one local daemon that lets agents drive, watch and debug Chrome, with a person at the wheel."""

__version__ = "0.1.0"
