"""Attempts to get around logins, projects and permissions, against a running lab."""
