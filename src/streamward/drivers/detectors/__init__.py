"""Detectors: one module for each way to find things."""

import os

# When it is imported, onnxruntime makes a device id and a database of telemetry events in the user's cache folder,
# unless this was set before; its own function that switches telemetry off can only be called afterwards.
os.putenv("ORT_DISABLE_TELEMETRY", "1")
