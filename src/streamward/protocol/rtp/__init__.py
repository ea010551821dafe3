"""RTP and RTCP (RFC 3550) with H.264 (RFC 6184) and H.265 (RFC 7798), without I/O, in both directions."""
