-- +goose Up
-- Times are microseconds since 1970.
CREATE TABLE {{.Prefix}}outbox (
    -- Never used again, so that what comes later is higher.
    seq              INTEGER PRIMARY KEY AUTOINCREMENT,
    id               TEXT NOT NULL,
    lane             INTEGER NOT NULL CHECK (lane BETWEEN 0 AND 63),
    state            TEXT NOT NULL DEFAULT 'pending'
                     CHECK (state IN ('pending', 'publishing', 'published', 'failed')),
    -- A row of the future, until its time has come.
    scheduled        INTEGER NOT NULL DEFAULT 0,
    -- Unknown, and not to be published again unless somebody says so.
    for_human        INTEGER NOT NULL DEFAULT 0,
    -- What a claim looks through.
    open             INTEGER NOT NULL GENERATED ALWAYS AS
                     (state IN ('pending', 'publishing') AND scheduled = 0 AND for_human = 0) VIRTUAL,
    destination      TEXT NOT NULL,
    ordering_key     TEXT NOT NULL DEFAULT '',
    keys             TEXT NOT NULL CHECK (json_valid(keys) AND json_type(keys) = 'array' AND json_array_length(keys) BETWEEN 1 AND 16),
    type             TEXT NOT NULL DEFAULT '',
    content_type     TEXT NOT NULL DEFAULT '',
    headers          TEXT CHECK (json_valid(headers) AND json_type(headers) = 'object'),
    not_before       INTEGER,
    created_at       INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) * 1000),
    publishing_since INTEGER,
    published_at     INTEGER,
    relay            TEXT NOT NULL DEFAULT '',
    token            INTEGER NOT NULL DEFAULT 0,
    confirmed        INTEGER NOT NULL DEFAULT 0,
    refusals         INTEGER NOT NULL DEFAULT 0,
    unknowns         INTEGER NOT NULL DEFAULT 0,
    -- A pending row is tried again then, and the rows of its key wait for it.
    retry_at         INTEGER,
    class            TEXT NOT NULL DEFAULT '',
    error            TEXT NOT NULL DEFAULT '',
    error_at         INTEGER,
    -- Last: what follows a large value is slow to read.
    payload          BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX {{.Prefix}}outbox_id ON {{.Prefix}}outbox (id);

-- What may be claimed: as large as the backlog, whatever was published.
CREATE INDEX {{.Prefix}}outbox_open ON {{.Prefix}}outbox (lane, seq) WHERE open;

-- What waits for its time.
CREATE INDEX {{.Prefix}}outbox_scheduled ON {{.Prefix}}outbox (lane, not_before) WHERE scheduled;

-- The keys that are held back, one row for each.
CREATE INDEX {{.Prefix}}outbox_retry ON {{.Prefix}}outbox (lane, retry_at) WHERE retry_at IS NOT NULL;

-- What a person is to look at.
CREATE INDEX {{.Prefix}}outbox_failed ON {{.Prefix}}outbox (seq) WHERE state = 'failed' OR for_human;

-- What may be pruned, the oldest first; it also answers how many there are.
CREATE INDEX {{.Prefix}}outbox_published ON {{.Prefix}}outbox (published_at, destination, class, created_at) WHERE state = 'published';

CREATE TABLE {{.Prefix}}relays (
    id       TEXT PRIMARY KEY,
    name     TEXT NOT NULL,
    beat     INTEGER NOT NULL,
    settings TEXT NOT NULL,
    idle     INTEGER NOT NULL,
    seen_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE {{.Prefix}}leases (
    lane  INTEGER PRIMARY KEY CHECK (lane BETWEEN 0 AND 63),
    relay TEXT NOT NULL DEFAULT '',
    token INTEGER NOT NULL DEFAULT 0
) STRICT;

WITH RECURSIVE lanes (lane) AS (SELECT 0 UNION ALL SELECT lane + 1 FROM lanes WHERE lane < 63)
INSERT INTO {{.Prefix}}leases (lane) SELECT lane FROM lanes;

-- +goose Down
DROP TABLE IF EXISTS {{.Prefix}}leases;
DROP TABLE IF EXISTS {{.Prefix}}relays;
DROP TABLE IF EXISTS {{.Prefix}}outbox;
