"""The frontier on a PostgreSQL server that many nodes share."""
