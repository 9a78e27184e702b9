"""The command line: tools as commands, and what a person does besides."""
