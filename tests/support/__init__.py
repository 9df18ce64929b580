"""Small hostile servers on loopback, for the tests of the network edge."""
