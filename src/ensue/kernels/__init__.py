"""The kernels: flat arrays in and out, compiled once for all queries."""
