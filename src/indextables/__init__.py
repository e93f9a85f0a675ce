"""Full-text search as a table format."""
