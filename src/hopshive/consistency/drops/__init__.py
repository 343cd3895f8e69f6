"""DROP TABLE as one step: which directories go with a table, and those that a metastore did not remove."""
