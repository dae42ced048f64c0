"""Measured speed and memory; `python -m benchmarks --help`. Never part of a test."""
