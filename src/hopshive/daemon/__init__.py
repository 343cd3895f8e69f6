"""A process of which one leads, whatever it does: lease, threads, requests, HTTP port, metrics, logs."""
