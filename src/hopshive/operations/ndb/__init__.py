"""NDB Cluster's own tools: take backups of the cluster, and restore the metastore's databases from a backup.

A backup is taken by all data nodes at once, and each writes its part on its own disk. Triggers and users are not in it: the
triggers of the consistency schema are applied again to each SQL node (hopshive.consistency.schema), users are the role ndb_sql's.
"""
