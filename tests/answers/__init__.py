"""Differential test of a running warehouse: HiveServer2 and Spark answer the same statements as DuckDB, row for row."""
