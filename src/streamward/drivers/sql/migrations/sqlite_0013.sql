-- Grants with an interval, a tenant and a site. `lease_now()` is the connection's own function (`engine`). Statements are
-- parted by blank lines.

DROP TRIGGER lease_follows_new_camera

DROP TRIGGER lease_follows_changed_camera

DROP TRIGGER lease_outlives_camera

DROP TRIGGER lease_granted

DROP TRIGGER lease_moved

-- A camera's lease row follows its camera: it is made with it, knows whether it is wanted, and outlives it.
CREATE TRIGGER lease_follows_new_camera AFTER INSERT ON cameras
BEGIN
    INSERT INTO stream_leases (camera_uuid, tenant_id, site_id, wanted, free_since, updated_at)
    VALUES (NEW.camera_uuid, NEW.tenant_id, NEW.site_id, NEW.enabled AND NOT NEW.do_not_process, NEW.updated_at, NEW.updated_at)
    ON CONFLICT (camera_uuid) DO UPDATE SET
        tenant_id = excluded.tenant_id, site_id = excluded.site_id, wanted = excluded.wanted,
        state = CASE WHEN state <> 'TERMINATED' THEN state WHEN runner_id IS NULL THEN 'PENDING' ELSE 'ACTIVE' END,
        updated_at = excluded.updated_at;
END

-- A camera that is deleted, not wanted any more, or moved to another tenant or site is withdrawn: its newest grant ends
-- here. The owner stays in the row until it releases or its ttl is over.
CREATE TRIGGER lease_follows_changed_camera
    AFTER UPDATE OF tenant_id, site_id, enabled, do_not_process ON cameras
BEGIN
    UPDATE stream_leases SET made_until = lease_now()
    WHERE camera_uuid = NEW.camera_uuid AND generation > 0 AND ended_at IS NULL
        AND (OLD.tenant_id <> NEW.tenant_id OR OLD.site_id <> NEW.site_id
            OR OLD.enabled AND NOT OLD.do_not_process AND (NEW.do_not_process OR NOT NEW.enabled));
    UPDATE stream_leases SET ended_at = max(made_until, granted_at)
    WHERE camera_uuid = NEW.camera_uuid AND ended_at IS NULL AND made_until IS NOT NULL;
    UPDATE stream_leases SET
        tenant_id = NEW.tenant_id, site_id = NEW.site_id,
        wanted = NEW.enabled AND NOT NEW.do_not_process, updated_at = NEW.updated_at
    WHERE camera_uuid = NEW.camera_uuid;
END

CREATE TRIGGER lease_outlives_camera AFTER DELETE ON cameras
BEGIN
    UPDATE stream_leases SET made_until = lease_now()
    WHERE camera_uuid = OLD.camera_uuid AND generation > 0 AND ended_at IS NULL;
    UPDATE stream_leases SET ended_at = max(made_until, granted_at)
    WHERE camera_uuid = OLD.camera_uuid AND ended_at IS NULL AND made_until IS NOT NULL;
    UPDATE stream_leases SET wanted = false, state = 'TERMINATED' WHERE camera_uuid = OLD.camera_uuid;
END

CREATE TRIGGER lease_granted AFTER UPDATE OF generation ON stream_leases
    WHEN NEW.generation <> OLD.generation
BEGIN
    SELECT RAISE(ABORT, 'a generation rises by one, with an owner')
    WHERE NEW.generation <> OLD.generation + 1 OR NEW.runner_id IS NULL;
    SELECT RAISE(ABORT, 'a grant is dated after all before it')
    WHERE NEW.granted_at <= max(OLD.granted_at, OLD.not_before, coalesce(OLD.ended_at, 0));
    INSERT INTO lease_grants (camera_uuid, generation, runner_id, incarnation, tenant_id, site_id, granted_at)
    VALUES (NEW.camera_uuid, NEW.generation, NEW.runner_id, NEW.incarnation, NEW.tenant_id, NEW.site_id, NEW.granted_at);
END

-- A grant ends once: later ends of the same grant change nothing.
CREATE TRIGGER lease_ended AFTER UPDATE OF ended_at ON stream_leases
    WHEN OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL
BEGIN
    UPDATE lease_grants SET ended_at = NEW.ended_at, made_until = NEW.made_until
    WHERE camera_uuid = NEW.camera_uuid AND generation = NEW.generation AND ended_at IS NULL;
END

CREATE TRIGGER lease_moved AFTER UPDATE OF state ON stream_leases
    WHEN OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({moves})
BEGIN
    SELECT RAISE(ABORT, 'a lease does not go from that state to this one');
END
