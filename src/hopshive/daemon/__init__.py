"""A daemon of which one instance leads: lease, threads, requests, HTTP port, metrics, logs."""
