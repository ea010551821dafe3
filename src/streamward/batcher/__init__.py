"""The batcher: takes detections from the bus behind the fence, and tells of them in batches."""
