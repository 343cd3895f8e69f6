"""Transactional tables for PySpark. Spark drivers import it: it needs nothing but the standard library, Thrift and PySpark."""
