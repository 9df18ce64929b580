"""What a URL is and whether we want it: canonical form, domain, fingerprint, ports, scope. Pure."""
