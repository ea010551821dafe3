-- The tables of both databases. Words in braces are filled in by the migration; statements are parted by blank lines.

CREATE TABLE tenants (
    tenant_id  {id} PRIMARY KEY,
    name       text NOT NULL,
    updated_at {instant} NOT NULL,
    revision   bigint NOT NULL DEFAULT 1
)

INSERT INTO tenants (tenant_id, name, updated_at)
SELECT named.tenant_id, '', {never} FROM (SELECT tenant_id FROM sites UNION SELECT tenant_id FROM cameras) AS named

-- One-time codes; a code itself is nowhere.
CREATE TABLE invitations (
    invitation_id {id} PRIMARY KEY,
    code_hash     text NOT NULL UNIQUE,
    subject       {id} NOT NULL,
    role          text NOT NULL CHECK (role IN ('runner', 'viewer', 'operator', 'admin')),
    tenant_id     {id},
    expires_at    {instant} NOT NULL,
    used_at       {instant},
    updated_at    {instant} NOT NULL,
    revision      bigint NOT NULL DEFAULT 1
)

-- Whom a public key proves. Rows stay when they are revoked: the name stays barred.
CREATE TABLE identities (
    identity_id {id} PRIMARY KEY,
    subject     {id} NOT NULL,
    role        text NOT NULL CHECK (role IN ('runner', 'viewer', 'operator', 'admin')),
    tenant_id   {id},
    public_key  text NOT NULL,
    revoked_at  {instant},
    updated_at  {instant} NOT NULL,
    revision    bigint NOT NULL DEFAULT 1
)

CREATE INDEX identities_by_subject ON identities (subject)

-- A runner has one key at a time, whoever redeems codes at the same moment, and one name has one tenant.
CREATE UNIQUE INDEX identities_one_live_runner ON identities (subject) WHERE role = 'runner' AND revoked_at IS NULL

CREATE INDEX identities_in_doubt ON identities (identity_id) WHERE revision > 1 OR revoked_at IS NOT NULL

-- Who changed what (S4-51). Written with the change itself, and never again.
CREATE TABLE audit (
    position      {serial},
    at            {instant} NOT NULL,
    subject       text NOT NULL,
    role          text NOT NULL,
    author_tenant {id},
    address       text NOT NULL,
    request_id    text NOT NULL,
    action        text NOT NULL,
    tenant_id     {id},
    object_id     text NOT NULL,
    before        text,
    after         text
)

CREATE INDEX audit_by_tenant ON audit (tenant_id, position)

CREATE INDEX audit_by_object ON audit (object_id, position)

-- What the outside is told of cameras (S0-024), in the order of the commits.
CREATE TABLE outbox (
    position     {serial},
    event_id     text NOT NULL,
    tenant_id    {id} NOT NULL,
    routing_key  text NOT NULL,
    body         text NOT NULL,
    at           {instant} NOT NULL,
    published_at {instant}
)

CREATE INDEX outbox_pending ON outbox (position) WHERE published_at IS NULL
