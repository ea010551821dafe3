"""The processes of a runner's host."""
