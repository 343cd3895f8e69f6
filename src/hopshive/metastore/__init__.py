"""What Hive has in its metastore: its schema, its Thrift, and the rows that make up an object."""
