"""The tables of tenancy: members of projects, and what the replicas of the login service share.

Names are VARBINARY: a collation that folds or pads would take two accounts for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLES: Mapping[str, str] = {
    "project_member": """
CREATE TABLE IF NOT EXISTS {state}.project_member (
  project VARBINARY(32) NOT NULL,
  account VARBINARY(32) NOT NULL,
  role VARCHAR(16) NOT NULL COMMENT 'owner, member, reader',
  PRIMARY KEY (project, account)
) ENGINE={engine}
""",
    "login_limit": """
CREATE TABLE IF NOT EXISTS {state}.login_limit (
  kind VARCHAR(8) NOT NULL COMMENT 'name, address',
  subject VARBINARY(32) NOT NULL COMMENT 'SHA-256: a password that was typed as a name stands nowhere',
  wrong INT NOT NULL COMMENT 'attempts of this window',
  pending INT NOT NULL COMMENT 'attempts that are under way',
  expires DATETIME(6) NOT NULL COMMENT 'UTC, end of the window',
  PRIMARY KEY (kind, subject),
  KEY login_limit_expires (expires)
) ENGINE={engine}
""",
    "login_code": """
CREATE TABLE IF NOT EXISTS {state}.login_code (
  account VARBINARY(32) NOT NULL,
  code VARBINARY(32) NOT NULL COMMENT 'SHA-256 of a one-time code that was accepted',
  expires DATETIME(6) NOT NULL COMMENT 'UTC, when its clock has left it behind',
  PRIMARY KEY (account, code),
  KEY login_code_expires (expires)
) ENGINE={engine}
""",
    "login_key": """
CREATE TABLE IF NOT EXISTS {state}.login_key (
  kid VARBINARY(64) NOT NULL,
  public VARBINARY(1000) NOT NULL COMMENT 'JWK',
  sealed VARBINARY(1000) NOT NULL COMMENT 'the private key, encrypted under a file of the hosts',
  signs_from DATETIME(6) NOT NULL COMMENT 'UTC; the newest key whose moment has come signs',
  lifetime INT NOT NULL COMMENT 'seconds, the longest of its tokens',
  expires DATETIME(6) NULL COMMENT 'UTC, end of its last token; NULL until another key follows',
  PRIMARY KEY (kid)
) ENGINE={engine}
""",
    "login_revocation": """
CREATE TABLE IF NOT EXISTS {state}.login_revocation (
  account VARBINARY(32) NOT NULL,
  revoked_at DATETIME(6) NOT NULL COMMENT 'UTC: tokens of a password that was checked until then are refused',
  expires DATETIME(6) NOT NULL COMMENT 'UTC, when the last of them has expired',
  PRIMARY KEY (account),
  KEY login_revocation_expires (expires)
) ENGINE={engine}
""",
}
