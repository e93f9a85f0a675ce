"""State and threads of one process."""
