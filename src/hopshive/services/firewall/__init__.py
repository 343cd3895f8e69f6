"""Which hosts and networks may open connections to a host of the warehouse."""
