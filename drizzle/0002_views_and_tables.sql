-- Views are SELECTs with names; the rows of a project's table lie in "project_<id>"."table_<id>".

INSERT INTO eider.counters VALUES ('view', 1), ('table', 1);

CREATE TABLE eider.views (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL,
  sql VARCHAR NOT NULL,
  database VARCHAR NOT NULL,
  columns JSON NOT NULL,
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL,
  UNIQUE (project_id, name_key)
);

CREATE TABLE eider.tables (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL,
  columns JSON NOT NULL,
  row_count BIGINT NOT NULL,
  created_at TIMESTAMP NOT NULL,
  UNIQUE (project_id, name_key)
);
