"""Noise: how much of it a plan asks for, and what it costs."""
