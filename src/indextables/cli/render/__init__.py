"""How answers look: tables on a terminal, tab-separated lines in a pipe, JSON for programs."""
