"""Log lines in S0's spelling, read back as programs read them."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from streamward.leases.facts import LeaseDenied, LeaseGranted
from streamward.leases.lease import DenialReason
from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId
from streamward.runtime import log
from streamward.runtime.log import FIELDS, LogForm, error_code, event_name, log_fact
from streamward.runtime.service import TickFailed

GRANTED = LeaseGranted(
    camera_id=CameraId("cam-1"), runner_id=RunnerId("r1"), incarnation=Incarnation("inc-1"), generation=Generation(3)
)


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(form: LogForm, *calls: Any, **options: Any) -> list[str]:
    out = io.StringIO()
    log.configure(form, out=out, **options)
    for call in calls:
        call()
    return out.getvalue().splitlines()


def entries(*calls: Any, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(LogForm.JSON, *calls, **options)]


def a_failure() -> None:
    try:
        raise LookupError("rtsp://admin:secret@10.0.0.7/live is gone")
    except LookupError as err:
        log_fact(TickFailed(service="keeper", error=err, times=2))


def test_a_fact_is_one_line_with_every_field_of_s0_first():
    (entry,) = entries(lambda: log_fact(GRANTED))
    assert tuple(entry)[: len(FIELDS)] == FIELDS
    assert {key: value for key, value in entry.items() if value is not None and key != "ts"} == {
        "level": "info",
        "runner_id": "r1",
        "camera_uuid": "cam-1",
        "event": "lease.granted",
        "msg": "lease granted",
        "incarnation": "inc-1",
        "generation": 3,
    }
    assert entry["ts"].endswith("Z")


def test_an_enum_is_its_word():
    denied = LeaseDenied(camera_id=None, runner_id=RunnerId("r1"), reason=DenialReason.SOFT_WINDOW)
    assert entries(lambda: log_fact(denied))[0]["reason"] == "soft-window"


def test_a_fact_with_an_error_has_its_code_and_stack_and_no_password():
    (entry,) = entries(a_failure)
    assert (entry["level"], entry["error_code"], entry["times"]) == ("error", "LOOKUP_ERROR", 2)
    assert entry["stack"].endswith("LookupError: rtsp://***@10.0.0.7/live is gone")
    assert "error" not in entry


class StoreGone(StreamwardError):
    def __str__(self) -> str:
        return "the database does not answer"


def a_known_failure(error: Exception | None) -> Callable[[], None]:
    def fail() -> None:
        try:
            raise StoreGone from error
        except StoreGone as err:
            log_fact(TickFailed(service="intake", error=err, times=2))

    return fail


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        (None, "the database does not answer"),
        (StoreGone(), "the database does not answer"),
        (TimeoutError(), "the database does not answer (TimeoutError)"),
        (OSError("no route\n[SQL: SELECT 1]"), "the database does not answer (OSError: no route)"),
    ],
)
def test_an_error_of_ours_is_one_sentence_and_its_stack_is_for_debugging(cause, sentence):
    (entry,) = entries(a_known_failure(cause))
    assert (entry["error_code"], entry["error"], entry["stack"]) == ("STORE_GONE", sentence, None)
    (entry,) = entries(a_known_failure(cause), level="DEBUG")
    assert "StoreGone" in entry["stack"]


def test_a_free_line_carries_its_values_and_the_context_of_the_process():
    def odd() -> None:
        logging.getLogger("streamward.control").warning("odd answer", extra={"camera_uuid": "cam-9", "shard_id": None})

    (entry,) = entries(odd, context={"runner_id": "r7", "shard_id": "shard-0", "camera_uuid": "not this"})
    assert (entry["level"], entry["event"], entry["msg"]) == ("warn", "streamward.control", "odd answer")
    assert (entry["camera_uuid"], entry["runner_id"], entry["shard_id"]) == ("cam-9", "r7", "shard-0")


def test_an_exception_in_a_free_line_has_its_code_and_stack():
    def failed() -> None:
        try:
            raise TimeoutError
        except TimeoutError:
            logging.getLogger("streamward.control").exception("gave up")

    (entry,) = entries(failed)
    assert (entry["error_code"], entry["msg"]) == ("TIMEOUT_ERROR", "gave up")
    assert "in failed" in entry["stack"]


def test_exc_info_without_an_exception_is_no_failure():
    (entry,) = entries(lambda: logging.getLogger("x").info("fine", exc_info=True))
    assert (entry["error_code"], entry["stack"]) == (None, None)


def test_values_of_any_kind_become_json_without_user_info():
    extra = {"urls": ["http://u:p@host/x"], "by": {"a": "rtsp://u@h/"}, "path": Path("a/b"), "ratio": 0.5}
    (entry,) = entries(lambda: logging.getLogger("x").info("seen", extra=extra))
    assert (entry["urls"], entry["by"]) == (["http://***@host/x"], {"a": "rtsp://***@h/"})
    assert (entry["path"], entry["ratio"]) == ("a/b", 0.5)


def test_lines_below_the_level_are_not_written():
    assert lines(LogForm.JSON, lambda: log_fact(GRANTED), level="warning") == []


def test_a_fact_that_warns_is_logged_at_warn():
    @dataclass
    class CameraRetried:
        is_warning: ClassVar[bool] = True
        camera_id: str

    (entry,) = entries(lambda: log_fact(CameraRetried("cam-9")))
    assert (entry["level"], entry["event"], entry["camera_uuid"]) == ("warn", "camera.retried", "cam-9")
    assert "is_warning" not in entry


def test_for_people_a_line_is_short_and_a_stack_stands_below_it():
    granted, free, *failure = lines(
        LogForm.TEXT,
        lambda: log_fact(GRANTED),
        lambda: logging.getLogger("x").info("up at %s", "http://u:p@h/", extra={"shard_id": "shard-0"}),
        a_failure,
    )
    assert granted[12:] == " info  lease.granted runner_id=r1 camera_uuid=cam-1 incarnation=inc-1 generation=3"
    assert free[12:] == " info  x: up at http://***@h/ shard_id=shard-0"
    assert failure[0][12:] == " error tick.failed error_code=LOOKUP_ERROR service=keeper times=2"
    assert failure[-1] == "LookupError: rtsp://***@10.0.0.7/live is gone"


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("LeaseGranted", "lease.granted"),
        ("DatabaseClockJumped", "database.clock.jumped"),
        ("RTSPConnectRetry", "rtsp.connect.retry"),
        ("WorkerSpawn", "worker.spawn"),
        ("H264Lost", "h264.lost"),
    ],
)
def test_events_are_named_in_small_words(name, event):
    assert event_name(type(name, (), {})) == event


def test_errors_are_named_as_programs_read_them():
    assert error_code(ConnectionResetError()) == "CONNECTION_RESET_ERROR"


def test_a_terminal_gets_text_and_a_pipe_gets_json():
    @dataclass
    class Out(io.StringIO):
        terminal: bool

        def isatty(self) -> bool:
            return self.terminal

    assert log.form_for(Out(terminal=True)) is LogForm.TEXT
    assert log.form_for(Out(terminal=False)) is LogForm.JSON
    assert log.form_for(Out(terminal=False), "text") is LogForm.TEXT
