"""How a split answers a predicate."""
