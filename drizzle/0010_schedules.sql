-- Jobs that run by themselves. Without keys, and never updated in place, as jobs are since step 8.
INSERT INTO eider.counters VALUES ('schedule', 1), ('schedule_run', 1);

CREATE TABLE eider.schedules (
  id INTEGER NOT NULL,
  project_id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL,
  -- Query and condition, which may hold keys.
  sealed_queries VARCHAR NOT NULL,
  start_at TIMESTAMP NOT NULL,
  end_at TIMESTAMP,
  every VARCHAR,
  created_at TIMESTAMP NOT NULL
);

CREATE TABLE eider.schedule_states (
  schedule_id INTEGER NOT NULL,
  next_run_at TIMESTAMP,
  last_due_at TIMESTAMP,
  last_job_id INTEGER,
  last_started_at TIMESTAMP,
  previous_started_at TIMESTAMP,
  -- What LAST stands for, by the place of its statement.
  marks JSON NOT NULL
);

CREATE TABLE eider.schedule_runs (
  id INTEGER NOT NULL,
  schedule_id INTEGER NOT NULL,
  job_id INTEGER NOT NULL,
  started_at TIMESTAMP NOT NULL,
  ended_at TIMESTAMP NOT NULL,
  state VARCHAR NOT NULL,
  error VARCHAR
);
