"""Whether a runner may have a camera at all, before anybody asks who has it now."""

from streamward.leases.lease import DenialReason, Denied, Owner
from streamward.model.camera import Camera
from streamward.model.runner import Runner


def refusal(runner: Runner | None, owner: Owner) -> Denied | None:
    """Only the newest incarnation of a runner may touch leases."""
    if runner is None or runner.incarnation != owner.incarnation:
        return Denied(DenialReason.INCARNATION_ENDED)
    return None


def mismatch(runner: Runner, camera: Camera) -> Denied | None:
    """Why this camera is not for this runner; another tenant's camera does not exist for it."""
    if runner.tenant_id not in (None, camera.tenant_id):
        return Denied(DenialReason.CAMERA_UNKNOWN)
    if not camera.is_wanted:
        return Denied(DenialReason.CAMERA_NOT_WANTED)
    if runner.site_id not in (None, camera.site_id):
        return Denied(DenialReason.SITE_MISMATCH)
    return None


def unfit(runner: Runner, *, slots_used: int) -> Denied | None:
    """Why this runner takes nothing new now."""
    if not runner.takes_leases:
        return Denied(DenialReason.RUNNER_CORDONED)
    if slots_used >= runner.capacity:
        return Denied(DenialReason.NO_CAPACITY)
    return None
