-- As it was. Statements are parted by blank lines.

DROP FUNCTION status_ends_with_camera()

DROP FUNCTION grant_is_kept()

DROP FUNCTION delete_tenant_rows(text, text, integer)

DROP FUNCTION audit_is_redacted()

DROP TRIGGER audit_is_kept ON audit

CREATE TRIGGER audit_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept()
