"""Shallow water in a closed basin: a small finite-volume model to be profiled."""
