"""Noise, what it costs, and how much of it a plan asks for."""
