"""A dialogue walked turn by turn, with what the memory did at each: from a log, or from a store as it happened."""
