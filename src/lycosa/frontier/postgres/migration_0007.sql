-- migration_0007: rows of URLs are gone: the logs have all of them.
DROP TABLE queue;
DROP TABLE seen;
