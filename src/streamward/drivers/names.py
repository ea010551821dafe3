"""What a host's name means, asked of the system in a thread of its own: a name whose server is silent delays nobody."""

import ipaddress
import socket
from functools import partial

from streamward.model.source_url import Address
from streamward.runtime.aside import aside


async def look_up(host: str) -> list[Address]:
    """All addresses of a name; raises what the system says if there is none."""
    return await aside(f"look up {host}", partial(_asked, host))


def _asked(host: str) -> list[Address] | Exception:
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return error
    return [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in answers]
