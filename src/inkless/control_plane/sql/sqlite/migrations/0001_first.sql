CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('topics_version', 1), ('next_producer_id', 1000);

CREATE TABLE brokers (
    node_id       INTEGER PRIMARY KEY,
    epoch         INTEGER NOT NULL,
    rack          TEXT,
    endpoints     TEXT    NOT NULL,
    registered_ms INTEGER NOT NULL
);

CREATE TABLE topics (
    topic_id   BLOB    PRIMARY KEY,
    name       TEXT    NOT NULL,
    partitions INTEGER NOT NULL,
    configs    TEXT    NOT NULL,
    created_ms INTEGER NOT NULL,
    deleted_ms INTEGER
) WITHOUT ROWID;

CREATE UNIQUE INDEX topics_by_name ON topics (name) WHERE deleted_ms IS NULL;

CREATE INDEX topics_by_past_name ON topics (name, deleted_ms) WHERE deleted_ms IS NOT NULL;

-- One row a partition. `pid` is its short name in the tables that grow.
CREATE TABLE partitions (
    pid            INTEGER PRIMARY KEY,
    topic_id       BLOB    NOT NULL,
    partition      INTEGER NOT NULL,
    log_start      INTEGER NOT NULL DEFAULT 0,
    high_watermark INTEGER NOT NULL DEFAULT 0,
    bytes          INTEGER NOT NULL DEFAULT 0,
    append_time_ms INTEGER NOT NULL DEFAULT -1,
    max_timestamp  INTEGER NOT NULL DEFAULT -1,
    swaps          INTEGER NOT NULL DEFAULT 0,
    UNIQUE (topic_id, partition)
);

-- `object_id` is made from the key. `coordinates` counts the rows that refer to the object; at 0 it may die after the
-- grace period. `results` is what the commit answered, kept for a writer that lost the answer.
CREATE TABLE objects (
    object_id    INTEGER PRIMARY KEY,
    key          TEXT    NOT NULL,
    size         INTEGER NOT NULL,
    coordinates  INTEGER NOT NULL,
    committed_ms INTEGER NOT NULL,
    retired_ms   INTEGER,
    results      TEXT
);

-- `running_max` is the largest timestamp from the partition's first record to this row: it never falls, so a
-- timestamp is found by bisection over the primary key, with no index of its own to write.
CREATE TABLE coordinates (
    pid             INTEGER NOT NULL,
    base_offset     INTEGER NOT NULL,
    last_offset     INTEGER NOT NULL,
    object_id       INTEGER,
    position        INTEGER NOT NULL,
    size            INTEGER NOT NULL,
    max_timestamp   INTEGER NOT NULL,
    running_max     INTEGER NOT NULL,
    append_time_ms  INTEGER NOT NULL,
    log_append_time INTEGER NOT NULL DEFAULT 0,
    real_offsets    INTEGER NOT NULL DEFAULT 0,
    inline          BLOB,
    PRIMARY KEY (pid, base_offset)
) WITHOUT ROWID;

CREATE TABLE condemned (
    key          TEXT    PRIMARY KEY,
    condemned_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- `known` packs the last five batches, oldest first.
CREATE TABLE producers (
    pid         INTEGER NOT NULL,
    producer_id INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    known       BLOB    NOT NULL,
    updated_ms  INTEGER NOT NULL,
    PRIMARY KEY (pid, producer_id)
) WITHOUT ROWID;

CREATE TABLE producer_id_blocks (
    first_id     INTEGER PRIMARY KEY,
    allocated_ms INTEGER NOT NULL
);
