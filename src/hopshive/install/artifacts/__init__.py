"""What is installed: resolved and locked in `artifacts/`, fetched, verified and packed once in a cache on the controller."""
