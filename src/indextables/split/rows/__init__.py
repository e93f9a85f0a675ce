"""The rows of a split, stored by Vortex."""
