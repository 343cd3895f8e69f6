"""Certificates of hosts and of clients: the warehouse's own authorities, or what the site brings. For the controller alone."""
