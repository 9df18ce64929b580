"""What the benchmarks share: running the real program on a simulated web, and reading figures."""
