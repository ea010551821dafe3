-- The tables of both databases. Words in braces are filled in by the migration; statements are parted by blank lines.

-- The internal id of a tenant, never used again. It begins with a character that no name has.
ALTER TABLE tenants ADD COLUMN tenant_key {id} NOT NULL DEFAULT ''

UPDATE tenants SET tenant_key = '~' || {random}

CREATE UNIQUE INDEX tenants_by_key ON tenants (tenant_key)

-- Deleted tenants, for ever: ids and times, no content. A name can be used again once its deletion is finished.
CREATE TABLE tenant_deletions (
    tenant_key          {id} PRIMARY KEY,
    tenant_id           {id} NOT NULL,
    requested_at        {instant} NOT NULL,
    tokens_after        {instant} NOT NULL,
    rows_deleted_at     {instant},
    payloads_deleted_at {instant},
    finished_at         {instant},
    removed             text NOT NULL DEFAULT '{{}}'
)

CREATE INDEX tenant_deletions_by_name ON tenant_deletions (tenant_id, requested_at)

CREATE UNIQUE INDEX tenant_deletions_unfinished ON tenant_deletions (tenant_id) WHERE finished_at IS NULL

-- One row, as soon as this installation has had a batcher: no deletion is finished without one.
CREATE TABLE batchers (
    place   integer PRIMARY KEY CHECK (place = 1),
    seen_at {instant} NOT NULL
)

CREATE INDEX lease_grants_by_tenant ON lease_grants (tenant_id, camera_uuid)
