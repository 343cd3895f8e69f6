"""A service as its operator sees it: does it answer, how is it restarted, who notices that it hangs."""
