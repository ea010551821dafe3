"""What a host's name means, asked of the system in a thread of its own.

The system's resolver cannot be interrupted. A name whose server is silent keeps a thread for as long as the resolver
tries, and delays neither another name nor the end of the process.
"""

import asyncio
import contextlib
import ipaddress
import socket
import threading

from streamward.model.source_url import Address


async def look_up(host: str) -> list[Address]:
    """All addresses of a name; raises what the system says if there is none."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[Address]] = loop.create_future()

    def tell(answer: list[Address] | Exception) -> None:
        if found.done():
            return  # nobody waits any more
        if isinstance(answer, Exception):
            found.set_exception(answer)
        else:
            found.set_result(answer)

    def ask() -> None:
        answer = _asked(host)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(tell, answer)

    threading.Thread(target=ask, name=f"look up {host}", daemon=True).start()
    return await found


def _asked(host: str) -> list[Address] | Exception:
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return error
    return [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in answers]
