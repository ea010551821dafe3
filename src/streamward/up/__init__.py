"""A whole fleet on this host, as real processes: control plane, simulated recorder and runners, started and kept up."""
