"""GStreamer's RTSP server: run by the system's Python, which alone has its bindings.

    python3 gstreamer_server.py PORT METHOD FOLDER     METHOD: none, basic or digest; ada's password is lovelace

Serves FOLDER/h264.mkv and FOLDER/h265.mkv as /h264 and /h265, and says `ready`.
"""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtsp", "1.0")
gi.require_version("GstRtspServer", "1.0")

from gi.repository import GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402

ROLE = "viewer"


def main() -> None:
    port, method, folder = sys.argv[1:]
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(port)
    if method != "none":
        server.set_auth(guard(method))
    mounts = server.get_mount_points()
    for name in ("h264", "h265"):
        factory = GstRtspServer.RTSPMediaFactory()
        factory.set_launch(f"( filesrc location={folder}/{name}.mkv ! matroskademux ! rtp{name}pay name=pay0 pt=96 )")
        if method != "none":
            factory.set_permissions(permissions())
        mounts.add_factory(f"/{name}", factory)
    server.attach(None)
    print("ready", flush=True)
    GLib.MainLoop().run()


def guard(method: str) -> "GstRtspServer.RTSPAuth":
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", ROLE)
    if method == "basic":
        auth.set_supported_methods(GstRtsp.RTSPAuthMethod.BASIC)
        auth.add_basic(GstRtspServer.RTSPAuth.make_basic("ada", "lovelace"), token)
    else:
        auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
        auth.add_digest("ada", "lovelace", token)
    return auth


def permissions() -> "GstRtspServer.RTSPPermissions":
    allowed = GstRtspServer.RTSPPermissions()
    for what in ("media.factory.access", "media.factory.construct"):
        allowed.add_permission_for_role(ROLE, what, True)
    return allowed


if __name__ == "__main__":
    main()
