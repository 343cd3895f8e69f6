"""Certificates of the hosts: the warehouse's own authority, or what the site brings. For the controller alone."""
