-- +goose Up
CREATE TABLE {{.Outbox}} (
    seq              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id               uuid NOT NULL,
    lane             smallint NOT NULL CHECK (lane BETWEEN 0 AND 63),
    state            text NOT NULL DEFAULT 'pending'
                     CHECK (state IN ('pending', 'publishing', 'published', 'failed')),
    -- A row of the future, until its time has come.
    scheduled        boolean NOT NULL DEFAULT false,
    -- Unknown, and not to be published again unless somebody says so.
    for_human        boolean NOT NULL DEFAULT false,
    -- What a claim looks through, and what a person is to look at. The indexes
    -- ask for these and not for the state, so that a claim changes no index.
    open             boolean NOT NULL GENERATED ALWAYS AS
                     (state IN ('pending', 'publishing') AND NOT scheduled AND NOT for_human) STORED,
    stopped          boolean NOT NULL GENERATED ALWAYS AS (state = 'failed' OR for_human) STORED,
    destination      text NOT NULL,
    keys             text[] NOT NULL CHECK (cardinality(keys) BETWEEN 1 AND 16),
    ordering_key     text NOT NULL DEFAULT '',
    type             text NOT NULL DEFAULT '',
    content_type     text NOT NULL DEFAULT '',
    headers          jsonb CHECK (jsonb_typeof(headers) = 'object'),
    payload          bytea NOT NULL,
    not_before       timestamptz,
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    publishing_since timestamptz,
    published_at     timestamptz,
    relay            text NOT NULL DEFAULT '',
    token            bigint NOT NULL DEFAULT 0,
    confirmed        integer NOT NULL DEFAULT 0,
    refusals         integer NOT NULL DEFAULT 0,
    unknowns         integer NOT NULL DEFAULT 0,
    -- A pending row is tried again then, and the rows of its key wait for it.
    retry_at         timestamptz,
    class            text NOT NULL DEFAULT '',
    error            text NOT NULL DEFAULT '',
    error_at         timestamptz,
    CHECK ((state = 'published') = (published_at IS NOT NULL))
);

CREATE UNIQUE INDEX {{.Prefix}}outbox_id ON {{.Outbox}} (id);

-- What may be claimed: as large as the backlog, whatever was published.
CREATE INDEX {{.Prefix}}outbox_open ON {{.Outbox}} (lane, seq) WHERE open;

-- What waits for its time.
CREATE INDEX {{.Prefix}}outbox_scheduled ON {{.Outbox}} (lane, not_before) WHERE scheduled;

-- The keys that are held back, one row for each.
CREATE INDEX {{.Prefix}}outbox_retry ON {{.Outbox}} (lane, retry_at) WHERE retry_at IS NOT NULL;

-- What a person is to look at.
CREATE INDEX {{.Prefix}}outbox_stopped ON {{.Outbox}} (seq) WHERE stopped;

-- What may be pruned, the oldest first.
CREATE INDEX {{.Prefix}}outbox_published ON {{.Outbox}} (published_at) WHERE published_at IS NOT NULL;

CREATE TABLE {{.Relays}} (
    id       text PRIMARY KEY,
    name     text NOT NULL,
    beat     bigint NOT NULL,
    settings text NOT NULL,
    idle     boolean NOT NULL,
    seen_at  timestamptz NOT NULL
);

-- Whoever may add to the outbox asks whether a relay waits to be woken. That
-- is all that this shows, and only to who may use the schema.
GRANT SELECT (idle) ON {{.Relays}} TO PUBLIC;

CREATE TABLE {{.Leases}} (
    lane  smallint PRIMARY KEY CHECK (lane BETWEEN 0 AND 63),
    relay text NOT NULL DEFAULT '',
    token bigint NOT NULL DEFAULT 0
);

INSERT INTO {{.Leases}} (lane) SELECT generate_series(0, 63);

-- +goose Down
DROP TABLE IF EXISTS {{.Leases}};
DROP TABLE IF EXISTS {{.Relays}};
DROP TABLE IF EXISTS {{.Outbox}};
