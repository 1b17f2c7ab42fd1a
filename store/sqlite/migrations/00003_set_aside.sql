-- +goose Up
CREATE TABLE {{.Prefix}}set_aside (
    id             TEXT PRIMARY KEY,
    consumer       TEXT NOT NULL,
    queue          TEXT NOT NULL,
    reason         TEXT NOT NULL,
    note           TEXT NOT NULL,
    message_id     TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    exchange       TEXT NOT NULL,
    key            TEXT NOT NULL,
    type           TEXT NOT NULL,
    content_type   TEXT NOT NULL,
    headers        TEXT,
    at             INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) * 1000),
    redriven_at    INTEGER,
    redrives       INTEGER NOT NULL DEFAULT 0,
    payload        BLOB NOT NULL
) STRICT;

-- One row for a message, where it can be told from others.
CREATE UNIQUE INDEX {{.Prefix}}set_aside_message ON {{.Prefix}}set_aside (consumer, reason, message_id) WHERE message_id <> '';

CREATE INDEX {{.Prefix}}set_aside_at ON {{.Prefix}}set_aside (at);

-- +goose Down
DROP TABLE IF EXISTS {{.Prefix}}set_aside;
