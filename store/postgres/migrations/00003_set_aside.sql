-- +goose Up
CREATE TABLE {{.Aside}} (
    id             uuid PRIMARY KEY,
    consumer       text NOT NULL,
    queue          text NOT NULL,
    reason         text NOT NULL,
    note           text NOT NULL,
    message_id     text NOT NULL,
    correlation_id text NOT NULL,
    exchange       text NOT NULL,
    key            text NOT NULL,
    type           text NOT NULL,
    content_type   text NOT NULL,
    -- json keeps the text as it came; jsonb would not.
    headers        json,
    payload        bytea NOT NULL,
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    redriven_at    timestamptz,
    redrives       integer NOT NULL DEFAULT 0
);

-- One row for a message, where it can be told from others.
CREATE UNIQUE INDEX {{.Prefix}}set_aside_message ON {{.Aside}} (consumer, reason, message_id) WHERE message_id <> '';

CREATE INDEX {{.Prefix}}set_aside_at ON {{.Aside}} (at);

-- +goose Down
DROP TABLE IF EXISTS {{.Aside}};
