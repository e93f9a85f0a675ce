"""How a state is written."""
