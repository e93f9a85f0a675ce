"""What every other layer may use and what does no I/O: errors, options, types, predicates, time."""
