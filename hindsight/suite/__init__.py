"""Suites: questions with gold, asked at a moment of a user's stream. One file a suite, each a dataclass with ``cases``."""
