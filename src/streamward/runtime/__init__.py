"""Clock, services, journal, log, failpoints, virtual time: knows nothing of video."""
