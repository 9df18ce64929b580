"""How the dictionary of URLs was made that chunks of domain logs are packed with."""
