"""Which files of a snapshot may hold a row that matches a predicate."""
