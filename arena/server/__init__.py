"""Server process: uvicorn, logs, ZeroGPU, the change log and the Hub backup."""
