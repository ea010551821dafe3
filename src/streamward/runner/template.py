"""What all shards of a runner have in common, as its settings say it; this is wiring: it names drivers."""

from streamward.drivers.clip_folder import checked
from streamward.drivers.detectors import used
from streamward.drivers.detectors.bundle import public_key_in
from streamward.drivers.objects import open_store
from streamward.leases.lease import Owner
from streamward.model.secret import Secret
from streamward.protocol import shards
from streamward.protocol.fields import ClearText
from streamward.settings import ObjectSettings, Settings


def template(settings: Settings, owner: Owner, secret: Secret) -> shards.ShardConfig:
    """A shard's config without shard and cameras; the secret is that of its Workers' HTTP."""
    at = broker(settings)
    return shards.ShardConfig(
        runner_id=owner.runner_id,
        shard_id="none",
        sources=[],
        source_limits=settings.runner.source_limits,
        max_fps=settings.runner.max_fps,
        detector=settings.runner.detector,
        decode=settings.runner.decode,
        skip_loop_filter=settings.runner.skip_loop_filter,
        hardware=settings.runner.hardware,
        clip_seconds=settings.runner.clip_s,
        clip_bytes=settings.runner.clip_mb << 20,
        clip_folder=checked(settings.runner.clip_folder),
        api_secret=ClearText(secret),
        incarnation=owner.incarnation,
        amqp=shards.Broker(url=None if at is None else ClearText(at)),
        objects=_objects(settings.objects),
        telemetry=shards.Telemetry(report_interval_seconds=settings.status_summary_interval_s),
        readiness_quorum_pct=settings.readiness_quorum_pct,
        grace_timeout_s=settings.runner.grace_s,
        data=str(settings.data.absolute()),
        models=shards.ModelsAt(
            folder=str(settings.models_folder.absolute()),
            key=None if settings.models_key is None else public_key_in(settings.models_key),
            runtime=settings.models_runtime,
            used=str(settings.data.absolute() / used.FOLDER),
        ),
        log=shards.LogLines(format=settings.log.format, level=settings.log.level),
    )


def broker(settings: Settings) -> Secret | None:
    """Where events go; None: to the embedded bus."""
    return None if settings.amqp.url is None else Secret(settings.amqp.url.get_secret_value())


def _objects(settings: ObjectSettings) -> shards.ObjectsAt | None:
    """Where large events go; raises StoreUnusable, before there is a Worker that would."""
    at = settings.at
    if at is not None:
        open_store(at)
    return at
