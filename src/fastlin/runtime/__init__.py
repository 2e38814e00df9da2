"""The layer below everything but the engine: locks, attributes that are made once, warnings."""
