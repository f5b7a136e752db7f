"""A language model answers with recalled memories: conditions, the reader, what its answers are worth."""
