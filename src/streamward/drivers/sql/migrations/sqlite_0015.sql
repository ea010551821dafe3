-- What SQLite guards. Statements are parted by blank lines.

-- The report of a camera's stream is not for the next camera of its id.
CREATE TRIGGER status_ends_with_camera AFTER DELETE ON cameras
BEGIN
    DELETE FROM stream_status WHERE camera_uuid = OLD.camera_uuid;
END

-- Grants stay, except those of a tenant that is being deleted.
CREATE TRIGGER grant_is_not_deleted BEFORE DELETE ON lease_grants
    WHEN NOT EXISTS (
        SELECT 1 FROM tenant_deletions AS d WHERE d.tenant_id = OLD.tenant_id AND d.finished_at IS NULL
    )
BEGIN
    SELECT RAISE(ABORT, 'grants are only deleted with their tenant');
END

-- What is in the audit stays as it is, except that the content of a deleted tenant is taken out: ids and times stay.
DROP TRIGGER audit_is_not_changed

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
    WHEN NEW.before IS NOT NULL OR NEW.after IS NOT NULL
    OR NEW.author_tenant IS NOT OLD.author_tenant AND NEW.author_tenant IS NOT NEW.tenant_id
    OR NEW.position IS NOT OLD.position OR NEW.at IS NOT OLD.at OR NEW.subject IS NOT OLD.subject
    OR NEW.role IS NOT OLD.role OR NEW.address IS NOT OLD.address OR NEW.request_id IS NOT OLD.request_id
    OR NEW.action IS NOT OLD.action OR NEW.object_id IS NOT OLD.object_id
    OR NOT EXISTS (
        SELECT 1 FROM tenant_deletions AS d
        WHERE d.tenant_id = OLD.tenant_id AND d.tenant_key = NEW.tenant_id AND d.finished_at IS NULL
    )
BEGIN
    SELECT RAISE(ABORT, 'the audit is never changed');
END
