"""Trials of a task in a workspace of its own, and their graders; the port is domain/ports/trials."""
