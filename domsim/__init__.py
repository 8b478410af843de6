"""Seeded matches of domino games between pluggable agents, with honest statistics."""
