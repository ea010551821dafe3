-- SQLite's guards. There is one control process: it wakes its waiters itself. Statements are parted by blank lines.

-- A camera's lease row follows its camera: it is made with it, knows whether it is wanted, and outlives it.
CREATE TRIGGER lease_follows_new_camera AFTER INSERT ON cameras
BEGIN
    INSERT INTO stream_leases (camera_uuid, tenant_id, site_id, wanted, free_since, updated_at)
    VALUES (NEW.camera_uuid, NEW.tenant_id, NEW.site_id, NEW.enabled AND NOT NEW.do_not_process, NEW.updated_at, NEW.updated_at)
    ON CONFLICT (camera_uuid) DO UPDATE SET
        tenant_id = excluded.tenant_id, site_id = excluded.site_id, wanted = excluded.wanted,
        state = CASE state WHEN 'TERMINATED' THEN 'PENDING' ELSE state END, updated_at = excluded.updated_at;
END

CREATE TRIGGER lease_follows_changed_camera
    AFTER UPDATE OF tenant_id, site_id, enabled, do_not_process ON cameras
BEGIN
    UPDATE stream_leases SET
        tenant_id = NEW.tenant_id, site_id = NEW.site_id,
        wanted = NEW.enabled AND NOT NEW.do_not_process, updated_at = NEW.updated_at
    WHERE camera_uuid = NEW.camera_uuid;
END

CREATE TRIGGER lease_outlives_camera AFTER DELETE ON cameras
BEGIN
    UPDATE stream_leases SET wanted = false, state = 'TERMINATED' WHERE camera_uuid = OLD.camera_uuid;
END

-- Whoever writes the table, generations rise by one, grants by their instants, and an owner changes only with a grant.
CREATE TRIGGER lease_begun AFTER INSERT ON stream_leases
    WHEN NEW.generation <> 0 OR EXISTS (SELECT 1 FROM lease_grants WHERE camera_uuid = NEW.camera_uuid)
BEGIN
    SELECT RAISE(ABORT, 'a new lease begins with generation 0, and grows by updates');
END

CREATE TRIGGER lease_owner_kept AFTER UPDATE OF generation, granted_at, runner_id, incarnation ON stream_leases
    WHEN NEW.generation = OLD.generation
    AND (NEW.granted_at <> OLD.granted_at
        OR NEW.runner_id IS NOT NULL
        AND (NEW.runner_id IS NOT OLD.runner_id OR NEW.incarnation IS NOT OLD.incarnation))
BEGIN
    SELECT RAISE(ABORT, 'an owner changes only with the generation');
END

CREATE TRIGGER lease_granted AFTER UPDATE OF generation ON stream_leases
    WHEN NEW.generation <> OLD.generation
BEGIN
    SELECT RAISE(ABORT, 'a generation rises by one, with an owner')
    WHERE NEW.generation <> OLD.generation + 1 OR NEW.runner_id IS NULL;
    SELECT RAISE(ABORT, 'a grant is dated after all before it')
    WHERE NEW.granted_at <= max(OLD.granted_at, OLD.not_before);
    INSERT INTO lease_grants (camera_uuid, generation, runner_id, incarnation, granted_at)
    VALUES (NEW.camera_uuid, NEW.generation, NEW.runner_id, NEW.incarnation, NEW.granted_at);
END

CREATE TRIGGER lease_moved AFTER UPDATE OF state ON stream_leases
    WHEN OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({moves})
BEGIN
    SELECT RAISE(ABORT, 'a lease does not go from that state to this one');
END
