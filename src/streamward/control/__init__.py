"""The control plane: the HTTP API and the keepers, stateless over one database."""
