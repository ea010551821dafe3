-- Three PostgreSQL roles with no more rights than they need (S0-082). Run it in the database of Streamward as the owner
-- of its tables, after the first migration and after each upgrade; it is safe to run again. The first run creates the
-- roles, for which the owner needs CREATEROLE; or an administrator creates them (CREATE ROLE ... NOLOGIN) before. All
-- are without login: grant them to the users that log in.
--
--     streamward migrate          # STREAMWARD_DATABASE_URL names the owner
--     psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f roles.sql
--     CREATE USER control PASSWORD '…' IN ROLE streamward_control;

DO $$
DECLARE
    missing text;
BEGIN
    FOREACH missing IN ARRAY ARRAY['streamward_control', 'streamward_leases', 'streamward_batcher'] LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = missing);
        IF NOT (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user) THEN
            RAISE EXCEPTION 'the role % does not exist, and % may not create it', missing, current_user
                USING HINT = format('Grant CREATEROLE to %s, or let an administrator run: CREATE ROLE %s NOLOGIN', current_user, missing);
        END IF;
        EXECUTE format('CREATE ROLE %I NOLOGIN', missing);
    END LOOP;
END $$;

-- The control plane: rows, but no schema. Grants are written by a trigger alone; leases and runners are never deleted, and
-- neither are detections, except those of a tenant that is being deleted, by a function that does nothing else.
GRANT USAGE ON SCHEMA public TO streamward_control;
GRANT SELECT, INSERT, UPDATE, DELETE ON cameras, sites, site_start_budget, site_dials, created_once, tenants, invitations,
    outbox, logins, handovers, batching_rules, installation_keys TO streamward_control;
GRANT SELECT, INSERT, UPDATE ON runners, incarnations, stream_leases, stream_status, identities, tenant_deletions
    TO streamward_control;
GRANT SELECT, INSERT ON audit TO streamward_control;
GRANT SELECT ON lease_grants, alembic_version, camera_sessions, workers, detections, zone_events, batches, analyses,
    broadcasts, batchers TO streamward_control;
GRANT EXECUTE ON FUNCTION delete_tenant_rows TO streamward_control;

-- A program that takes leases in the database itself: reads cameras, inserts and updates leases, nothing else.
GRANT USAGE ON SCHEMA public TO streamward_leases;
GRANT SELECT ON cameras TO streamward_leases;
GRANT SELECT, INSERT, UPDATE ON stream_leases TO streamward_leases;

-- The batcher: detections and what comes of them. It sees grants, and nothing of cameras and people.
GRANT USAGE ON SCHEMA public TO streamward_batcher;
GRANT SELECT, INSERT, UPDATE, DELETE ON detections, zone_events, batches, analyses, broadcasts
    TO streamward_batcher;
GRANT SELECT ON lease_grants, tenants, batching_rules, tenant_deletions, alembic_version TO streamward_batcher;
GRANT UPDATE (payloads_deleted_at) ON tenant_deletions TO streamward_batcher;
GRANT SELECT, INSERT, UPDATE ON batchers TO streamward_batcher;
GRANT EXECUTE ON FUNCTION grants_of TO streamward_batcher;
