"""A user's memory, open: what ``hindsight.open_memory`` returns."""
