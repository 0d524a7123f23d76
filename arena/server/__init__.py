"""The process: serving, logs, ZeroGPU, the change log and the backup on the Hub."""
