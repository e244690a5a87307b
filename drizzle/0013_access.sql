-- Who may come in beside the user of the settings, and what was changed by whom. Without keys, and never updated in place,
-- as jobs are since step 8. No column can be turned back into a key or a password.
INSERT INTO eider.counters VALUES ('key', 1), ('user', 1);

CREATE TABLE eider.access_keys (
  id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  -- The beginning of the key, for people to know it by.
  prefix VARCHAR NOT NULL,
  -- SHA-256 of the key, in hex.
  hash VARCHAR NOT NULL,
  scopes JSON NOT NULL,
  namespaces JSON,
  requests_per_minute INTEGER,
  created_by VARCHAR NOT NULL,
  created_at TIMESTAMP NOT NULL,
  expires_at TIMESTAMP
);

-- Apart, since these rows are written again and again.
CREATE TABLE eider.access_key_uses (
  key_id INTEGER NOT NULL,
  last_used_at TIMESTAMP NOT NULL
);

CREATE TABLE eider.users (
  id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  -- Argon2id, with its salt and parameters.
  password_hash VARCHAR NOT NULL,
  role VARCHAR NOT NULL,
  namespaces JSON,
  created_by VARCHAR NOT NULL,
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL
);

-- One row is one change, or `occurrences` alike that failed within a minute.
CREATE TABLE eider.audit_log (
  number BIGINT NOT NULL,
  happened_at TIMESTAMP NOT NULL,
  principal_kind VARCHAR NOT NULL,
  principal_id VARCHAR NOT NULL,
  principal_name VARCHAR NOT NULL,
  action VARCHAR NOT NULL,
  targets JSON NOT NULL,
  outcome VARCHAR NOT NULL,
  address VARCHAR NOT NULL,
  request_id VARCHAR NOT NULL,
  occurrences BIGINT NOT NULL
);
