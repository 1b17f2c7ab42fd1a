-- +goose Up
CREATE TABLE {{.Prefix}}inbox (
    consumer   TEXT NOT NULL,
    id         TEXT NOT NULL,
    replay     TEXT NOT NULL DEFAULT '',
    at         INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) * 1000),
    duplicates INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (consumer, id)
) STRICT, WITHOUT ROWID;

-- What may be pruned, the oldest first.
CREATE INDEX {{.Prefix}}inbox_at ON {{.Prefix}}inbox (consumer, at);

CREATE TABLE {{.Prefix}}marks (
    consumer  TEXT NOT NULL,
    aggregate TEXT NOT NULL,
    -- Nanoseconds since 1970: rounded, an event would be newer than itself.
    time      INTEGER,
    sequence  INTEGER NOT NULL DEFAULT 0,
    stale     INTEGER NOT NULL DEFAULT 0,
    gaps      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (consumer, aggregate)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS {{.Prefix}}marks;
DROP TABLE IF EXISTS {{.Prefix}}inbox;
