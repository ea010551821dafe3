-- Three PostgreSQL roles with no more rights than they need (S0-082). Run once in the database of Streamward, by its
-- owner, after the first migration and after each upgrade; safe to run again. All are without login: grant them to the
-- users that log in.
--
--     psql "$DATABASE_URL" -f roles.sql
--     CREATE USER control PASSWORD '…' IN ROLE streamward_control;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'streamward_control') THEN
        CREATE ROLE streamward_control NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'streamward_leases') THEN
        CREATE ROLE streamward_leases NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'streamward_batcher') THEN
        CREATE ROLE streamward_batcher NOLOGIN;
    END IF;
END $$;

-- The control plane: rows, but no schema. Grants are written by a trigger alone; leases and runners are never deleted.
GRANT USAGE ON SCHEMA public TO streamward_control;
GRANT SELECT, INSERT, UPDATE, DELETE ON cameras, sites, site_start_budget, site_dials, created_once, tenants, invitations,
    outbox, logins, handovers, batching_rules TO streamward_control;
GRANT SELECT, INSERT, UPDATE ON runners, incarnations, stream_leases, stream_status, identities TO streamward_control;
GRANT SELECT, INSERT ON audit TO streamward_control;
GRANT SELECT ON lease_grants, alembic_version, camera_sessions, workers, detections, zone_events, batches, analyses,
    broadcasts TO streamward_control;

-- A program that takes leases in the database itself: reads cameras, inserts and updates leases, nothing else.
GRANT USAGE ON SCHEMA public TO streamward_leases;
GRANT SELECT ON cameras TO streamward_leases;
GRANT SELECT, INSERT, UPDATE ON stream_leases TO streamward_leases;

-- The batcher: detections and what comes of them. It sees grants, and nothing of cameras and people.
GRANT USAGE ON SCHEMA public TO streamward_batcher;
GRANT SELECT, INSERT, UPDATE, DELETE ON detections, zone_events, batches, analyses, broadcasts
    TO streamward_batcher;
GRANT SELECT ON lease_grants, tenants, batching_rules, alembic_version TO streamward_batcher;
GRANT EXECUTE ON FUNCTION grants_of TO streamward_batcher;
