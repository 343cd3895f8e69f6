"""What a replica tells Prometheus. Counters belong to the process: a sum over replicas is the truth."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20)


class LoginMetrics:
    """All metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.logins = Counter(
            "hopshive_login_logins",
            "Logins by what proved them (password, password+code, token, provider, certificate) and result.",
            ("by", "result"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "hopshive_login_seconds",
            "How long a login took, without the wait that all refusals have in common.",
            ("by",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.under_way = Gauge("hopshive_login_under_way", "Logins that are not answered yet.", registry=self.registry)
        self.revocations = Counter(
            "hopshive_login_revocations", "Times that all tokens of a person were revoked.", registry=self.registry
        )
        self.up = Gauge(
            "hopshive_login_up",
            "1 while the database, the back end is reached, else 0.",
            ("what",),
            registry=self.registry,
        )
        self.key_age = Gauge("hopshive_login_key_age_seconds", "Age of the key that signs.", registry=self.registry)
