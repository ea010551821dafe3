-- The fence's eye on PostgreSQL. Statements are parted by blank lines.

-- The grants that somebody's detections name, each with when the next one was given, held until the commit: nobody is
-- granted one of these cameras meanwhile. A lease that is just being granted is busy, unless the caller may wait for it.
-- Two statements, each with a view of its own: what was granted during a wait is seen. Renewals go on all the time.
CREATE FUNCTION grants_of(cameras text[], generations bigint[], may_wait boolean)
RETURNS TABLE (place integer, runner_id text, incarnation text, next_at timestamptz, is_busy boolean)
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
    SELECT m.place::integer, g.runner_id, g.incarnation, s.granted_at, m.camera_uuid = ANY (busy)
    FROM unnest(cameras, generations) WITH ORDINALITY AS m (camera_uuid, generation, place)
    JOIN lease_grants AS g ON g.camera_uuid = m.camera_uuid AND g.generation = m.generation
    LEFT JOIN lease_grants AS s ON s.camera_uuid = m.camera_uuid AND s.generation = m.generation + 1;
END $$

REVOKE EXECUTE ON FUNCTION grants_of FROM PUBLIC

-- Whoever grants a camera, nobody stores a detection of it until the commit. Our own grants have this lock already, and
-- took it before they read the time.
CREATE FUNCTION grant_is_alone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM stream_leases WHERE camera_uuid = NEW.camera_uuid FOR UPDATE;
    RETURN NEW;
END $$

CREATE TRIGGER grant_is_alone BEFORE INSERT ON lease_grants FOR EACH ROW EXECUTE FUNCTION grant_is_alone()
