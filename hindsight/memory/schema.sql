-- Every table but meta begins with user_id, and memory/rows.py is the only place that reads or writes them: it puts the user in.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The change number of a user goes up with every write: what another process reads to see what it lacks.
CREATE TABLE users (
    user_id TEXT PRIMARY KEY,
    change INTEGER NOT NULL DEFAULT 0,
    erased INTEGER NOT NULL DEFAULT 0  -- the change at which something was erased last
) WITHOUT ROWID;

-- What was said, faithfully. text is NULL where it was erased: positions stay.
CREATE TABLE events (
    user_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    session TEXT NOT NULL,
    speaker TEXT NOT NULL,
    role TEXT NOT NULL,
    text TEXT,
    time TEXT,
    calls TEXT NOT NULL,  -- JSON
    PRIMARY KEY (user_id, position)
) WITHOUT ROWID;

-- One row a memory, as it is now. memory: the types.Memory as JSON, but for what the columns say.
CREATE TABLE memories (
    user_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    change INTEGER NOT NULL,
    last INTEGER NOT NULL,  -- its last source position
    status TEXT NOT NULL,
    layer TEXT NOT NULL,
    origin TEXT NOT NULL,
    about TEXT NOT NULL,
    value TEXT NOT NULL,
    version INTEGER NOT NULL,
    written REAL NOT NULL,
    read REAL,
    reads INTEGER NOT NULL,
    expires REAL,
    successor TEXT,
    memory TEXT NOT NULL,
    PRIMARY KEY (user_id, memory_id)
);
CREATE INDEX memories_by_change ON memories (user_id, change);
CREATE INDEX memories_by_about ON memories (user_id, about) WHERE about != '';

-- Which events a memory draws on: what an erased event takes with it.
CREATE TABLE sources (
    user_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    memory_id TEXT NOT NULL,
    PRIMARY KEY (user_id, position, memory_id)
) WITHOUT ROWID;
CREATE INDEX sources_by_memory ON sources (user_id, memory_id);

CREATE TABLE versions (
    user_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    number INTEGER NOT NULL,  -- in order of what happened
    version INTEGER NOT NULL,
    event TEXT NOT NULL,
    text TEXT NOT NULL,
    at REAL NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (user_id, memory_id, number)
) WITHOUT ROWID;

CREATE TABLE vectors (
    user_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (user_id, memory_id, fingerprint)
);

-- Runs of events that are to be consolidated, or have been.
CREATE TABLE batches (
    user_id TEXT NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,  -- the first position after it
    tries INTEGER NOT NULL DEFAULT 0,
    settled INTEGER NOT NULL DEFAULT 0,
    why TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (user_id, start)
) WITHOUT ROWID;

-- Every decision: ids and numbers, never a text.
CREATE TABLE audit (
    user_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    memory_ids TEXT NOT NULL,  -- JSON
    detail TEXT NOT NULL,      -- JSON
    PRIMARY KEY (user_id, number)
) WITHOUT ROWID;

-- One row a recall: what set it off, what was shown at which rank and with which chance, what was cited.
CREATE TABLE traces (
    user_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    at REAL NOT NULL,
    trace TEXT NOT NULL,  -- JSON
    PRIMARY KEY (user_id, number)
) WITHOUT ROWID;
