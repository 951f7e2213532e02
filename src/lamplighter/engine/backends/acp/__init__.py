"""Sessions that speak the Agent Client Protocol: the shim has their pipes, the daemon is the client."""
