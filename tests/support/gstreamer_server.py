"""GStreamer's RTSP server: run by the system's Python, which alone has its bindings.

    python3 gstreamer_server.py PORT METHOD FOLDER     METHOD: none, basic or digest; ada's password is lovelace

Serves FOLDER/h264.mkv and FOLDER/h265.mkv as /h264 and /h265, the first as /udp-only over UDP alone, test pictures as
/jpeg-420, /jpeg-422 and, one every 5 s, /jpeg-slow, and FOLDER/NAME.mp4 as /NAME, and says `ready`.
"""

import sys
from pathlib import Path

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
    for name, launch in launches(folder).items():
        factory = GstRtspServer.RTSPMediaFactory()
        factory.set_launch(f"( {launch} )")
        if name == "udp-only":
            factory.set_protocols(GstRtsp.RTSPLowerTrans.UDP)
        if method != "none":
            factory.set_permissions(permissions())
        mounts.add_factory(f"/{name}", factory)
    server.attach(None)
    print("ready", flush=True)
    GLib.MainLoop().run()


def launches(folder: str) -> "dict[str, str]":
    """Pipelines by path."""
    found = {
        name: f"filesrc location={folder}/{name}.mkv ! matroskademux ! rtp{name}pay name=pay0 pt=96"
        for name in ("h264", "h265")
    }
    found["udp-only"] = found["h264"]
    for name, form, rate in (("420", "I420", "10/1"), ("422", "Y42B", "10/1"), ("slow", "I420", "1/5")):
        caps = f"video/x-raw,format={form},width=320,height=192,framerate={rate}"
        source = "videotestsrc is-live=true pattern=ball"
        found[f"jpeg-{name}"] = f"{source} ! {caps} ! jpegenc ! rtpjpegpay name=pay0 pt=26"
    for file in Path(folder).glob("*.mp4"):
        payloader = "rtpmp4vpay" if file.stem == "mpeg4" else "rtph264pay"
        found[file.stem] = f"filesrc location={file} ! qtdemux ! {payloader} name=pay0 pt=96"
    return found


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
