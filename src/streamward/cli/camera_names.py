"""Cameras as people name them: by the id of the whole installation, or by the name that their tenant gave."""

from streamward.cli.failure import CommandFailed
from streamward.cli.link import Link, place
from streamward.cli.refusal import NotFound
from streamward.protocol.cameras import CameraDetails, CameraPage


def camera_id(link: Link, camera: str) -> str:
    """The id of the camera that has this id, or else this name; of what is neither, the same again."""
    try:
        return link.get(place("v1", "cameras", camera), CameraDetails).body.camera_uuid
    except NotFound:
        found = link.get(place("v1", "cameras"), CameraPage, {"name": camera}).body.items
    if len(found) > 1:
        those = ", ".join(f"{each.camera_uuid} of {each.tenant_id}" for each in found)
        raise CommandFailed(f"several tenants have a camera named {camera}: name one by its id ({those})")
    return found[0].camera_uuid if found else camera
