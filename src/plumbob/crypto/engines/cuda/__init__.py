"""Paillier on an NVIDIA GPU: the kernels' source, the driver that launches them, and the engine over both.

The driver needs numpy alone and the device CuPy, so that the benchmark runs on machines that have nothing else.
"""
