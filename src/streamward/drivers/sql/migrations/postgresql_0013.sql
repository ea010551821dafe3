-- Grants with an interval, a tenant and a site. Statements are parted by blank lines.

-- A camera's lease row follows its camera: it is made with it, knows whether it is wanted, and outlives it. A camera that
-- is deleted, not wanted any more, or moved to another tenant or site is withdrawn: its newest grant ends here. The owner
-- stays in the row until it releases or its ttl is over.
CREATE OR REPLACE FUNCTION lease_follows_camera() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    withdrawn_at timestamptz;
BEGIN
    IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND (
        (OLD.tenant_id, OLD.site_id) IS DISTINCT FROM (NEW.tenant_id, NEW.site_id)
        OR OLD.enabled AND NOT OLD.do_not_process AND (NEW.do_not_process OR NOT NEW.enabled)
    ) THEN
        PERFORM FROM stream_leases WHERE camera_uuid = OLD.camera_uuid FOR NO KEY UPDATE;
        withdrawn_at := lease_now();
        UPDATE stream_leases SET ended_at = greatest(withdrawn_at, granted_at), made_until = withdrawn_at
        WHERE camera_uuid = OLD.camera_uuid AND generation > 0 AND ended_at IS NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        UPDATE stream_leases SET wanted = false, state = 'TERMINATED' WHERE camera_uuid = OLD.camera_uuid;
        RETURN NULL;
    END IF;
    INSERT INTO stream_leases AS l (camera_uuid, tenant_id, site_id, wanted, free_since, updated_at)
    VALUES (NEW.camera_uuid, NEW.tenant_id, NEW.site_id, NEW.enabled AND NOT NEW.do_not_process, NEW.updated_at, NEW.updated_at)
    ON CONFLICT (camera_uuid) DO UPDATE SET
        tenant_id = excluded.tenant_id, site_id = excluded.site_id, wanted = excluded.wanted,
        state = CASE WHEN l.state <> 'TERMINATED' THEN l.state WHEN l.runner_id IS NULL THEN 'PENDING' ELSE 'ACTIVE' END,
        updated_at = excluded.updated_at;
    RETURN NULL;
END $$

CREATE OR REPLACE FUNCTION lease_granted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    before stream_leases := OLD;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT coalesce(max(generation), 0), coalesce(max(granted_at), to_timestamp(0)), to_timestamp(0), max(ended_at)
        INTO before.generation, before.granted_at, before.not_before, before.ended_at
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
    IF NEW.granted_at <= greatest(before.granted_at, before.not_before, before.ended_at) THEN
        RAISE EXCEPTION 'a grant is dated after all before it' USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO lease_grants (camera_uuid, generation, runner_id, incarnation, tenant_id, site_id, granted_at)
    VALUES (NEW.camera_uuid, NEW.generation, NEW.runner_id, NEW.incarnation, NEW.tenant_id, NEW.site_id, NEW.granted_at);
    RETURN NULL;
END $$

-- A grant ends once: later ends of the same grant change nothing.
CREATE FUNCTION lease_ended() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE lease_grants SET ended_at = NEW.ended_at, made_until = NEW.made_until
    WHERE camera_uuid = NEW.camera_uuid AND generation = NEW.generation AND ended_at IS NULL;
    RETURN NULL;
END $$

CREATE TRIGGER lease_ended
    AFTER UPDATE OF ended_at ON stream_leases
    FOR EACH ROW WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL)
    EXECUTE FUNCTION lease_ended()

DROP TRIGGER lease_moved ON stream_leases

CREATE TRIGGER lease_moved
    AFTER UPDATE OF state ON stream_leases
    FOR EACH ROW
    WHEN (OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({moves}))
    EXECUTE FUNCTION lease_moved()

DROP FUNCTION grants_of(text[], bigint[], boolean)

-- The grants that detections name, each with its interval and the date of the next one, held until the commit: no camera
-- of these is granted meanwhile. A lease that is just being granted is busy, unless the caller may wait for it. Two
-- statements, each with a snapshot of its own: what was granted during a wait is seen. Renewals go on all the time.
CREATE FUNCTION grants_of(cameras text[], generations bigint[], may_wait boolean)
RETURNS TABLE (
    place integer, runner_id text, incarnation text, tenant_id text, site_id text,
    granted_at timestamptz, ended_at timestamptz, made_until timestamptz, next_at timestamptz, is_busy boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    held text[];
    busy text[] := ARRAY[]::text[];
BEGIN
    IF may_wait THEN
        PERFORM FROM stream_leases AS l WHERE l.camera_uuid = ANY (cameras) ORDER BY l.camera_uuid FOR KEY SHARE;
    ELSE
        held := ARRAY(
            SELECT l.camera_uuid FROM stream_leases AS l WHERE l.camera_uuid = ANY (cameras) FOR KEY SHARE SKIP LOCKED
        );
        IF cardinality(held) < (SELECT count(DISTINCT camera) FROM unnest(cameras) AS camera) THEN
            busy := ARRAY(
                SELECT l.camera_uuid FROM stream_leases AS l WHERE l.camera_uuid = ANY (cameras)
                EXCEPT SELECT unnest(held)
            );
        END IF;
    END IF;
    RETURN QUERY
    SELECT m.place::integer, g.runner_id, g.incarnation, g.tenant_id, g.site_id, g.granted_at, g.ended_at, g.made_until,
        s.granted_at, m.camera_uuid = ANY (busy)
    FROM unnest(cameras, generations) WITH ORDINALITY AS m (camera_uuid, generation, place)
    JOIN lease_grants AS g ON g.camera_uuid = m.camera_uuid AND g.generation = m.generation
    LEFT JOIN lease_grants AS s ON s.camera_uuid = m.camera_uuid AND s.generation = m.generation + 1;
END $$

REVOKE EXECUTE ON FUNCTION grants_of FROM PUBLIC
