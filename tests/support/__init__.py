"""What tests of several rooms share: servers on loopback, builders of values, fixtures, and
the real program as a process."""
