-- PostgreSQL's clock, guards and wake-ups. Statements are parted by blank lines.

-- Database time. Never now(): that stands still inside a transaction.
CREATE FUNCTION lease_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()'

-- A camera's lease row follows its camera: it is made with it, knows whether it is wanted, and outlives it.
CREATE FUNCTION lease_follows_camera() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        UPDATE stream_leases SET wanted = false, state = 'TERMINATED' WHERE camera_uuid = OLD.camera_uuid;
        RETURN NULL;
    END IF;
    INSERT INTO stream_leases AS l (camera_uuid, tenant_id, site_id, wanted, free_since, updated_at)
    VALUES (NEW.camera_uuid, NEW.tenant_id, NEW.site_id, NEW.enabled AND NOT NEW.do_not_process, NEW.updated_at, NEW.updated_at)
    ON CONFLICT (camera_uuid) DO UPDATE SET
        tenant_id = excluded.tenant_id, site_id = excluded.site_id, wanted = excluded.wanted,
        state = CASE l.state WHEN 'TERMINATED' THEN 'PENDING' ELSE l.state END, updated_at = excluded.updated_at;
    RETURN NULL;
END $$

CREATE TRIGGER lease_follows_camera
    AFTER INSERT OR DELETE OR UPDATE OF tenant_id, site_id, enabled, do_not_process ON cameras
    FOR EACH ROW EXECUTE FUNCTION lease_follows_camera()

-- Whoever writes the table, generations rise by one, grants by their instants, and an owner changes only with a grant.
-- Runs with its owner's rights, since nobody else may write grants.
CREATE FUNCTION lease_granted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    before stream_leases := OLD;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT coalesce(max(generation), 0), coalesce(max(granted_at), to_timestamp(0)), to_timestamp(0)
        INTO before.generation, before.granted_at, before.not_before
        FROM lease_grants WHERE camera_uuid = NEW.camera_uuid;
    END IF;
    IF NEW.generation = before.generation THEN
        IF NEW.granted_at <> before.granted_at
            OR NEW.runner_id IS NOT NULL
            AND (NEW.runner_id, NEW.incarnation) IS DISTINCT FROM (before.runner_id, before.incarnation) THEN
            RAISE EXCEPTION 'an owner changes only with the generation' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NULL;
    END IF;
    IF NEW.generation <> before.generation + 1 OR NEW.runner_id IS NULL THEN
        RAISE EXCEPTION 'a generation rises by one, with an owner' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.granted_at <= greatest(before.granted_at, before.not_before) THEN
        RAISE EXCEPTION 'a grant is dated after all before it' USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO lease_grants (camera_uuid, generation, runner_id, incarnation, granted_at)
    VALUES (NEW.camera_uuid, NEW.generation, NEW.runner_id, NEW.incarnation, NEW.granted_at);
    RETURN NULL;
END $$

CREATE TRIGGER lease_begun AFTER INSERT ON stream_leases FOR EACH ROW EXECUTE FUNCTION lease_granted()

-- A renewal changes none of these columns, so it fires nothing.
CREATE TRIGGER lease_granted
    AFTER UPDATE OF generation, granted_at, runner_id, incarnation ON stream_leases
    FOR EACH ROW
    WHEN ((OLD.generation, OLD.granted_at, OLD.runner_id, OLD.incarnation)
        IS DISTINCT FROM (NEW.generation, NEW.granted_at, NEW.runner_id, NEW.incarnation))
    EXECUTE FUNCTION lease_granted()

CREATE FUNCTION lease_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a lease does not go from % to %', OLD.state, NEW.state USING ERRCODE = 'check_violation';
END $$

CREATE TRIGGER lease_moved
    AFTER UPDATE OF state ON stream_leases
    FOR EACH ROW
    WHEN (OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({moves}))
    EXECUTE FUNCTION lease_moved()

CREATE FUNCTION wake_waiters() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('streamward', '');
    RETURN NULL;
END $$

CREATE TRIGGER lease_freed
    AFTER UPDATE OF state, runner_id ON stream_leases
    FOR EACH ROW
    WHEN (OLD.runner_id IS NOT NULL AND NEW.runner_id IS NULL OR OLD.state <> 'ORPHANED' AND NEW.state = 'ORPHANED')
    EXECUTE FUNCTION wake_waiters()

CREATE TRIGGER cameras_changed
    AFTER INSERT OR DELETE OR UPDATE OF tenant_id, site_id, rtsp_url, enabled, do_not_process ON cameras
    FOR EACH STATEMENT EXECUTE FUNCTION wake_waiters()

CREATE TRIGGER runner_flags_changed
    AFTER UPDATE OF cordoned, drain_mode, capacity_streams ON runners
    FOR EACH ROW
    WHEN ((OLD.cordoned, OLD.drain_mode, OLD.capacity_streams)
        IS DISTINCT FROM (NEW.cordoned, NEW.drain_mode, NEW.capacity_streams))
    EXECUTE FUNCTION wake_waiters()
