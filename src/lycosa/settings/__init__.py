"""What can be set: the table of options, and the values that are made of them."""
