"""What lies below everything but the engine: locks; threads, buffers and files will follow."""
