"""What the benchmarks share: they run the real program on a simulated web and read its figures."""
