"""One package for each thing that we do not own, and an in-memory twin of every store."""
