"""What a URL is and whether we want it: canonical form, domain, links, fingerprint, scope. Pure."""
