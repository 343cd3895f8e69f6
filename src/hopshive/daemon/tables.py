"""The daemon's tables: the lease, and requests of humans."""

LEASE = """
CREATE TABLE IF NOT EXISTS {state}.lease (
  id TINYINT NOT NULL COMMENT '1: there is one row',
  holder VARCHAR(255) NOT NULL,
  epoch BIGINT NOT NULL COMMENT 'rises with each take-over; every transaction of a leader checks it',
  expires DATETIME(6) NOT NULL COMMENT 'UTC, by the database''s clock',
  connections VARCHAR(255) NOT NULL COMMENT 'of the holder, to be killed by who takes over',
  PRIMARY KEY (id)
) ENGINE={engine}
"""

REQUEST = """
CREATE TABLE IF NOT EXISTS {state}.request (
  id BIGINT NOT NULL AUTO_INCREMENT,
  kind VARCHAR(16) NOT NULL COMMENT 'sync, restore, approve, collect, fix',
  argument VARBINARY(8000) NOT NULL COMMENT 'JSON',
  asked DATETIME(3) NOT NULL COMMENT 'UTC',
  asked_by VARCHAR(255) NOT NULL,
  state VARCHAR(16) NOT NULL COMMENT 'waiting, running, done, failed',
  done BIGINT NOT NULL DEFAULT 0 COMMENT 'progress, in objects',
  total BIGINT NOT NULL DEFAULT 0 COMMENT '0 while unknown',
  message VARCHAR(4000) NOT NULL DEFAULT '' COMMENT 'the result, or what went wrong',
  PRIMARY KEY (id)
) ENGINE={engine}
"""
