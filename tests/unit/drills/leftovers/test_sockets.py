"""Sockets as the kernel tells them."""

from streamward.drills.leftovers.sockets import Socket, parse

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 0100007F:A001 010012C6:216A 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0 20 4 30 10 -1
   2: 0100007F:A002 0100007F:1F90 06 00000000:00000000 03:00000EBC 00000000     0        0 0 3 0
"""


def test_those_that_listen_or_are_connected_are_told():
    assert parse(TABLE) == [
        Socket(111, "127.0.0.1:8080", "0.0.0.0:0", is_listening=True),
        Socket(222, "127.0.0.1:40961", "198.18.0.1:8554", is_listening=False),
    ]
