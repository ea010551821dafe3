"""The names of keys: S2's, below one prefix for each tenant.

    {tenant}:batch:<camera>:current                 the batch that gathers the present
    {tenant}:batch:<camera>:aside                   the one beside it
    {tenant}:batch:<camera>:places                  detection → batch, so that a repeat changes nothing
    {tenant}:batch:<batch>:camera_id, …             S2-13 to S2-19, and what else a batch has: `common.lua`
    {tenant}:batches:window                         open batches by the moment at which their window ends
    {tenant}:batches:idle                           open batches by the moment after which a check finds them idle
    {tenant}:batches:sealed                         sealed ones by the moment at which somebody was told to close them
    {tenant}:alert:<track>                          the detection by which a tracked object was alerted of

The braces are part of the name: what is between them decides the slot in Redis Cluster, so all of a tenant is in one.
Whatever could mean something in a name is percent-encoded, and the last words of cameras' and batches' keys differ, so
no two ids ever meet.
"""

from urllib.parse import quote

from streamward.model.ids import TenantId


def encoded(text: str) -> str:
    """An id as a part of a key; `common.lua` does the same."""
    return quote(text, safe="")


def window_key(tenant_id: TenantId) -> str:
    """The one key that scripts are given: they know all others by it."""
    return f"{{{encoded(tenant_id)}}}:batches:window"


def alert_key(tenant_id: TenantId, track: str) -> str:
    """Of one tracked object, as `claim_alerts` is offered it."""
    return f"{{{encoded(tenant_id)}}}:alert:{encoded(track)}"


def every_key(tenant_id: TenantId) -> str:
    """A pattern that the keys of a tenant match, and no others: an encoded id has no character that means more."""
    return f"{{{encoded(tenant_id)}}}:*"
