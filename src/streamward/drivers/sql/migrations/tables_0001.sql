-- The tables of both databases. Words in braces are filled in by the migration; statements are parted by blank lines.

CREATE TABLE sites (
    site_id   {id} PRIMARY KEY,
    tenant_id {id} NOT NULL,
    policy    text CHECK (policy IN ('fast', 'sticky', 'task'))
)

-- S0-033
CREATE TABLE site_start_budget (
    site_id      {id} PRIMARY KEY REFERENCES sites ON DELETE CASCADE,
    tokens       {real} NOT NULL,
    capacity     integer NOT NULL,
    refill_rate  {real} NOT NULL,
    reserve      {real} NOT NULL,
    reserve_size integer NOT NULL,
    updated_at   {instant} NOT NULL
) {often_updated}

-- Dials in flight, and which (camera, generation) has had its token; without a camera it is anonymous.
CREATE TABLE site_dials (
    dial_id     {serial},
    site_id     {id} NOT NULL REFERENCES sites ON DELETE CASCADE,
    camera_uuid {id},
    generation  bigint,
    granted_at  {instant} NOT NULL
)

CREATE UNIQUE INDEX site_dials_once ON site_dials (site_id, camera_uuid, coalesce(generation, 0))
    WHERE camera_uuid IS NOT NULL

CREATE INDEX site_dials_granted ON site_dials (site_id, granted_at)

CREATE TABLE cameras (
    camera_uuid          {id} PRIMARY KEY,
    tenant_id            {id} NOT NULL,
    site_id              {id} NOT NULL,
    rtsp_url             text NOT NULL,
    enabled              boolean NOT NULL DEFAULT true,
    do_not_process       boolean NOT NULL DEFAULT false,
    caps                 {json},
    last_probe_at        {instant},
    last_state_change_at {instant},
    updated_at           {instant} NOT NULL
)

CREATE INDEX cameras_by_site ON cameras (site_id)

CREATE INDEX cameras_by_tenant ON cameras (tenant_id, camera_uuid)

-- `capacity_streams` is the one number of slots; `resources` is what else a runner says it has.
CREATE TABLE runners (
    runner_id        {id} PRIMARY KEY,
    incarnation      {id},
    tenant_id        {id},
    site_id          {id},
    policy           text NOT NULL CHECK (policy IN ('fast', 'sticky', 'task')),
    status           text NOT NULL DEFAULT 'REGISTERED',
    capacity_streams integer NOT NULL,
    resources        {json} NOT NULL DEFAULT '{{}}',
    cordoned         boolean NOT NULL DEFAULT false,
    drain_mode       text NOT NULL DEFAULT 'none' CHECK (drain_mode IN ('none', 'soft', 'hard')),
    last_seen_at     {instant} NOT NULL
) {often_updated}

-- Every incarnation that ever was, so that none is used twice.
CREATE TABLE incarnations (
    runner_id     {id} NOT NULL,
    incarnation   {id} NOT NULL,
    registered_at {instant},
    ended_at      {instant},
    PRIMARY KEY (runner_id, incarnation)
)

-- The present of each camera's ownership. No foreign key to cameras: generations outlive deletion. No index on
-- expires_at: a renewal must touch no index (HOT update), or the table grows without end.
CREATE TABLE stream_leases (
    camera_uuid {id} PRIMARY KEY,
    tenant_id   {id} NOT NULL,
    site_id     {id} NOT NULL,
    wanted      boolean NOT NULL DEFAULT true,
    generation  bigint NOT NULL DEFAULT 0 CHECK (generation >= 0),
    runner_id   {id},
    incarnation {id},
    state       text NOT NULL DEFAULT 'PENDING'
                CHECK (state IN ('PENDING', 'ACTIVE', 'PAUSED', 'ORPHANED', 'TERMINATED')),
    reason      text,
    ttl         {real} NOT NULL DEFAULT 0,
    soft_for    {real} NOT NULL DEFAULT 0,
    granted_at  {instant} NOT NULL DEFAULT {never},
    expires_at  {instant} NOT NULL DEFAULT {never},
    not_before  {instant} NOT NULL DEFAULT {never},
    free_since  {instant} NOT NULL DEFAULT {never},
    updated_at  {instant} NOT NULL DEFAULT {never},
    CHECK ((runner_id IS NULL) = (incarnation IS NULL))
) {often_updated}

CREATE INDEX stream_leases_by_runner ON stream_leases (runner_id) WHERE runner_id IS NOT NULL

CREATE INDEX stream_leases_free ON stream_leases (site_id) WHERE state IN ('PENDING', 'ORPHANED')

-- The past: one row for each generation, written by a trigger alone.
CREATE TABLE lease_grants (
    camera_uuid {id} NOT NULL,
    generation  bigint NOT NULL,
    runner_id   {id} NOT NULL,
    incarnation {id} NOT NULL,
    granted_at  {instant} NOT NULL,
    PRIMARY KEY (camera_uuid, generation)
)

CREATE TABLE stream_status (
    camera_uuid         {id} PRIMARY KEY,
    runner_id           {id} NOT NULL,
    state               text NOT NULL,
    ts                  {instant} NOT NULL,
    generation          bigint,
    shard_id            {id},
    substate            text,
    error_code          text,
    fps                 {real},
    last_frame_ts       {instant},
    last_frame_age_s    {real},
    streamed_at         {instant},
    streamed_generation bigint
) {often_updated}

-- S4-09
CREATE VIEW camera_sessions AS
SELECT camera_uuid AS camera_id, tenant_id, site_id, runner_id AS worker_id, generation, state,
       nullif(expires_at, {never}) AS lease_expires_at, reason, updated_at
FROM stream_leases

-- S4-11
CREATE VIEW workers AS
SELECT runner_id AS worker_id, site_id, status, {capacity_json} AS capacity, last_seen_at
FROM runners
