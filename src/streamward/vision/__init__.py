"""From frame to detection to event: what to look at, what was seen, and how a stream does."""
