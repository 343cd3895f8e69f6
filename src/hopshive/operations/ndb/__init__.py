"""NDB Cluster's own tools: backups of the cluster, and the metastore's databases back from one.

A backup is taken by all data nodes at once, and each writes its part on its own disk. Triggers and users are not in it: the
triggers of the consistency schema are applied again to each SQL node (hopshive.consistency.schema), users are the role ndb_sql's.
"""
