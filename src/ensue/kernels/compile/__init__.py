"""How kernels are compiled by Numba and kept on disk."""
