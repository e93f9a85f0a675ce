"""The indexes of splits on local disk, shared by all processes of one user."""
