"""What comes before a service runs: products, checks beforehand, credential stores, archives of jars, addresses."""
