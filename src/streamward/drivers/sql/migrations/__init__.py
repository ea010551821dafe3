"""The schema's history; `streamward.drivers.sql.migrate` applies it."""
