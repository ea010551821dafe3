-- The tables of both databases. Words in braces are filled in by the migration; statements are parted by blank lines.

-- What was seen, each once. Who saw it is in the grant of its camera and generation.
CREATE TABLE detections (
    detection_id {serial},
    event_id     {id} NOT NULL,
    idx          integer NOT NULL,
    tenant_id    {id} NOT NULL,
    site_id      {id} NOT NULL,
    camera_uuid  {id} NOT NULL,
    generation   bigint NOT NULL,
    made_at      {instant} NOT NULL,
    stored_at    {instant} NOT NULL,
    is_late      boolean NOT NULL,
    label        text NOT NULL,
    confidence   {real} NOT NULL,
    box          text NOT NULL,
    batch_id     {id},
    UNIQUE (event_id, idx)
)

CREATE INDEX detections_loose ON detections (detection_id) WHERE batch_id IS NULL

CREATE INDEX detections_by_camera ON detections (camera_uuid, detection_id)

CREATE INDEX detections_by_tenant ON detections (tenant_id, detection_id)

-- Closed batches, and by that what waits for the analysis queue. One that was taken back has no detections.
CREATE TABLE batches (
    position      {serial},
    batch_id      {id} NOT NULL UNIQUE,
    tenant_id     {id} NOT NULL,
    camera_uuid   {id} NOT NULL,
    detection_ids text NOT NULL,
    started_at    {instant} NOT NULL,
    closed_at     {instant} NOT NULL,
    reason        text NOT NULL,
    told_at       {instant}
)

CREATE INDEX batches_untold ON batches (position) WHERE told_at IS NULL

CREATE INDEX batches_by_tenant ON batches (tenant_id, position)

CREATE INDEX batches_by_camera ON batches (camera_uuid, position)

CREATE TABLE analyses (
    position    {serial},
    batch_id    {id} NOT NULL UNIQUE,
    tenant_id   {id} NOT NULL,
    camera_uuid {id} NOT NULL,
    body        text NOT NULL,
    at          {instant} NOT NULL
)

CREATE INDEX analyses_by_tenant ON analyses (tenant_id, position)

CREATE INDEX analyses_by_camera ON analyses (camera_uuid, position)

-- What whoever listens is told, in the order of the commits.
CREATE TABLE broadcasts (
    seq       {serial},
    tenant_id {id} NOT NULL,
    kind      text NOT NULL,
    body      text NOT NULL,
    at        {instant} NOT NULL
)

CREATE INDEX broadcasts_by_tenant ON broadcasts (tenant_id, seq)

CREATE TABLE batching_rules (
    tenant_id  {id} PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
    wishes     text NOT NULL,
    updated_at {instant} NOT NULL
)
