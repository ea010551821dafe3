-- What PostgreSQL guards. Statements are parted by blank lines.

-- The report of a camera's stream is not for the next camera of its id.
CREATE FUNCTION status_ends_with_camera() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM stream_status WHERE camera_uuid = OLD.camera_uuid;
    RETURN NULL;
END $$

CREATE TRIGGER status_ends_with_camera AFTER DELETE ON cameras
    FOR EACH ROW EXECUTE FUNCTION status_ends_with_camera()

-- Deletes some rows of a tenant that is being deleted, of tables in which a control plane may not delete otherwise, and
-- takes the content out of its audit; returns of how many rows. Runs with its owner's rights.
CREATE FUNCTION delete_tenant_rows(kind text, tenant text, at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    internal text;
    deleted bigint;
BEGIN
    SELECT d.tenant_key INTO internal FROM tenant_deletions AS d
    WHERE d.tenant_id = tenant AND d.rows_deleted_at IS NULL;
    IF internal IS NULL OR EXISTS (SELECT FROM tenants AS e WHERE e.tenant_id = tenant) THEN
        RAISE EXCEPTION 'no such tenant is being deleted' USING ERRCODE = 'check_violation';
    ELSIF kind = 'audit' THEN
        UPDATE audit SET tenant_id = internal, before = NULL, after = NULL,
            author_tenant = CASE WHEN author_tenant = tenant THEN internal ELSE author_tenant END
        WHERE position IN (SELECT x.position FROM audit AS x WHERE x.tenant_id = tenant LIMIT at_most);
    ELSIF kind = 'lease_grants' THEN -- in the order in which the caller locked their leases
        DELETE FROM lease_grants WHERE ctid = ANY (ARRAY(
            SELECT x.ctid FROM lease_grants AS x WHERE x.tenant_id = tenant ORDER BY x.camera_uuid LIMIT at_most
        ));
    ELSIF kind IN ('detections', 'zone_events', 'batches', 'analyses', 'broadcasts', 'runners') THEN
        EXECUTE format(
            'DELETE FROM %I WHERE ctid = ANY (ARRAY(SELECT x.ctid FROM %I AS x WHERE x.tenant_id = $1 LIMIT $2))',
            kind, kind
        ) USING tenant, at_most;
    ELSE
        RAISE EXCEPTION 'rows of % are not deleted so', kind USING ERRCODE = 'check_violation';
    END IF;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$

REVOKE EXECUTE ON FUNCTION delete_tenant_rows FROM PUBLIC

-- Grants stay, except those of a tenant that is being deleted.
CREATE FUNCTION grant_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM tenant_deletions AS d WHERE d.tenant_id = OLD.tenant_id AND d.finished_at IS NULL
    ) THEN
        RAISE EXCEPTION 'grants are only deleted with their tenant' USING ERRCODE = 'check_violation';
    END IF;
    RETURN OLD;
END $$

CREATE TRIGGER grant_is_kept BEFORE DELETE ON lease_grants FOR EACH ROW EXECUTE FUNCTION grant_is_kept()

-- What is in the audit stays as it is, except that the content of a deleted tenant is taken out: ids and times stay.
DROP TRIGGER audit_is_kept ON audit

CREATE TRIGGER audit_is_kept BEFORE DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept()

CREATE FUNCTION audit_is_redacted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.before IS NOT NULL OR NEW.after IS NOT NULL
        OR NEW.author_tenant IS DISTINCT FROM OLD.author_tenant AND NEW.author_tenant IS DISTINCT FROM NEW.tenant_id
        OR (NEW.position, NEW.at, NEW.subject, NEW.role, NEW.address, NEW.request_id, NEW.action, NEW.object_id)
            IS DISTINCT FROM
            (OLD.position, OLD.at, OLD.subject, OLD.role, OLD.address, OLD.request_id, OLD.action, OLD.object_id)
        OR NOT EXISTS (
            SELECT FROM tenant_deletions AS d
            WHERE d.tenant_id = OLD.tenant_id AND d.tenant_key = NEW.tenant_id AND d.finished_at IS NULL
        )
    THEN
        RAISE EXCEPTION 'the audit is never changed' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$

CREATE TRIGGER audit_is_redacted BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_is_redacted()
