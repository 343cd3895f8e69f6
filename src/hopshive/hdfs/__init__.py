"""HDFS without a JVM: paths and locations, the NameNode's RPC, WebHDFS."""
