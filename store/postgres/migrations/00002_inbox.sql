-- +goose Up
CREATE TABLE {{.Inbox}} (
    consumer   text NOT NULL,
    id         text NOT NULL,
    replay     text NOT NULL DEFAULT '',
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    duplicates integer NOT NULL DEFAULT 0,
    PRIMARY KEY (consumer, id)
);

-- What may be pruned, the oldest first.
CREATE INDEX {{.Prefix}}inbox_at ON {{.Inbox}} (consumer, at);

CREATE TABLE {{.Marks}} (
    consumer  text NOT NULL,
    aggregate text NOT NULL,
    -- Nanoseconds since 1970: a timestamptz would round them, and the same
    -- event would be newer or older than itself.
    time      bigint,
    sequence  bigint NOT NULL DEFAULT 0,
    stale     bigint NOT NULL DEFAULT 0,
    gaps      bigint NOT NULL DEFAULT 0,
    -- Null while an aggregate is only locked: there is no mark yet.
    set_at    timestamptz,
    PRIMARY KEY (consumer, aggregate)
);

-- +goose Down
DROP TABLE IF EXISTS {{.Marks}};
DROP TABLE IF EXISTS {{.Inbox}};
