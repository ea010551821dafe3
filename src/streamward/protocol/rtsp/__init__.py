"""RTSP 1.0 (RFC 2326) over one TCP connection, without I/O: messages, framing, logins, and both ends of a session."""
