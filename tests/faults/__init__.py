"""Break a running warehouse in one way after the other, with clients at work, and look what became of their work."""
