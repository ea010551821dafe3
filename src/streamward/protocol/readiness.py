"""Role → its starter: one line of JSON over the descriptor that `--ready-fd` names, sent once when the role serves.

    streamward up, a drill, a test ─ pipe, --ready-fd N ─→ role
                                   ←─ ControlReady | NvrReady | BatcherReady | RunnerReady | WorkerReady

The end of the pipe without a message is the end of the role before it served. The one-time code of the control plane is
sent here and printed, and is written to no file.
"""

from streamward.protocol.fields import ClearText, Id, Message


class ControlReady(Message, frozen=True, tag_field="role", tag="control"):
    """Control plane: it accepts connections at this URL. The code signs in the first admin; null: there is one."""

    pid: int
    url: str
    code: ClearText | None


class NvrReady(Message, frozen=True, tag_field="role", tag="nvr"):
    """Simulated NVR: the URL of each camera, without credentials, and of the API that sets faults."""

    pid: int
    camera_urls: list[str]
    control_url: str


class BatcherReady(Message, frozen=True, tag_field="role", tag="batcher"):
    """Batcher: it serves `/metrics`, `/health` and `/ready` there; database and bus may still be unreachable."""

    pid: int
    url: str


class RunnerReady(Message, frozen=True, tag_field="role", tag="runner"):
    """Manager of a runner: it is registered, and a Worker has loaded the detector. `pid` is the Manager's."""

    pid: int
    runner_id: Id
    url: str  # its own metrics are at /metrics
    workers_url: str  # its Workers' metrics are at /metrics


class WorkerReady(Message, frozen=True, tag_field="role", tag="worker"):
    """Worker without a Manager: it serves at this URL; the secret for `/drain` and `/terminate` is in that file."""

    pid: int
    url: str
    secret_file: str
