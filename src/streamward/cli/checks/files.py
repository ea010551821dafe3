"""Checks of what lies on this host: the data folder, the keys, the certificates."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

from streamward.cli.checks.finding import Finding, failed, ok, warning
from streamward.cli.link import trust
from streamward.cli.refusal import CertificateUnusable
from streamward.control.keys import load_keyring
from streamward.control.master_keys import MasterKeys
from streamward.control.tls import Tls, TlsFiles, TlsUnusable
from streamward.model.errors import StreamwardError
from streamward.model.secret import Secret
from streamward.settings import Settings

RENEW_WITHIN = timedelta(days=14)  # of a certificate's end

_MADE_AT_START = "`streamward control` makes it at its first start"


def data_folder(settings: Settings) -> Finding:
    """The folder of database and keys is there, ours, and nobody else's."""
    check, path = "data folder", settings.data
    if not path.exists():
        return warning(check, f"{path} is not there yet", f"{_MADE_AT_START}; or set STREAMWARD_DATA to where it is")
    if not path.is_dir():
        return failed(check, f"{path} is not a folder", "set STREAMWARD_DATA to one")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return failed(check, f"{path} cannot be written by this user", f"run as its owner, or chown {path}")
    mode = path.stat().st_mode & 0o777
    if mode & 0o022:
        return failed(check, f"{path} can be written by others (mode {mode:04o})", f"chmod 700 {path}")
    if mode & 0o077:
        return warning(check, f"{path} can be entered by others (mode {mode:04o})", f"chmod 700 {path}")
    return ok(check, f"{path} is private")


def signing_key(settings: Settings) -> Finding:
    """The key that signs tokens is there, private, and a key."""
    check, path = "signing key", settings.key_file
    if not path.exists():
        return warning(check, f"{path} is not there yet", f"{_MADE_AT_START}, or copy it from another control plane")
    return _key(check, path, lambda: f"{path} holds {len(load_keyring(path).keys)} key(s)")


def master_key(settings: Settings) -> Finding:
    """The keys that seal credentials are there, private, and keys."""
    check, path, given = "master key", settings.master_key_file, settings.master_key
    keys = MasterKeys(path, None if given is None else Secret(given.get_secret_value()))
    if keys.is_file and not path.exists():
        return warning(check, f"{path} is not there yet", f"{_MADE_AT_START}; if credentials were sealed, restore it")
    where = path if keys.is_file else "STREAMWARD_MASTER_KEY"
    return _key(check, path, lambda: f"{where} holds {len(keys.read())} key(s)")


def server_certificate(settings: Settings) -> Finding | None:
    """The control plane's certificate fits its key and lasts; None: it speaks plain HTTP."""
    check, tls = "TLS certificate", settings.tls
    if tls.certificate is None or tls.key is None:
        return None
    try:
        Tls(TlsFiles(certificate=tls.certificate, key=tls.key, client_ca=tls.client_ca))
    except TlsUnusable as err:
        return failed(check, str(err), "put files there that belong together, in PEM form, and readable by this user")
    if tls.key.stat().st_mode & 0o077:
        return failed(check, f"the key {tls.key} can be read by others", f"chmod 600 {tls.key}")
    return _lasting(check, tls.certificate)


def client_certificate(settings: Settings) -> Finding | None:
    """What commands trust and show can be used; None: nothing was set."""
    check, control = "client certificates", settings.control
    if control.ca is None and control.client_certificate is None:
        return None
    try:
        trust(ca=control.ca, certificate=control.client_certificate, key=control.client_key)
    except CertificateUnusable as err:
        return failed(check, str(err), "put files there that belong together, in PEM form, and readable by this user")
    shown = control.client_certificate or control.ca
    assert shown is not None
    return _lasting(check, shown)


def _key(check: str, path: Path, read: Callable[[], str]) -> Finding:
    try:
        return ok(check, read())
    except StreamwardError as err:
        return failed(check, str(err), f"chmod 600 {path}, or restore it from a backup")
    except PermissionError:
        return failed(check, f"{path} cannot be read by this user", "run as the user of the control plane")


def _lasting(check: str, path: Path) -> Finding:
    ends = min(each.not_valid_after_utc for each in x509.load_pem_x509_certificates(path.read_bytes()))
    left = ends - datetime.now(UTC)
    told = f"{path} is valid until {ends:%Y-%m-%d %H:%M} UTC"
    if left <= timedelta(0):
        return failed(check, f"{path} has expired at {ends:%Y-%m-%d %H:%M} UTC", "renew it")
    if left < RENEW_WITHIN:
        return warning(check, told, "renew it soon: a running control plane takes up the new one by itself")
    return ok(check, told)
