-- What questions to agents left behind. Without keys, and never updated in place, as jobs are since step 8. The number of a
-- trace grows with each, so that the newest are found without reading the others.
CREATE TABLE eider.traces (
  number BIGINT NOT NULL,
  trace_id VARCHAR NOT NULL,
  project_id INTEGER NOT NULL,
  project_name VARCHAR NOT NULL,
  agent_id INTEGER NOT NULL,
  agent_name VARCHAR NOT NULL,
  conversation_id VARCHAR,
  provider VARCHAR NOT NULL,
  model_name VARCHAR NOT NULL,
  -- question or evaluation.
  purpose VARCHAR NOT NULL,
  question VARCHAR NOT NULL,
  answer VARCHAR,
  outcome VARCHAR NOT NULL,
  error_code VARCHAR,
  error_message VARCHAR,
  started_at TIMESTAMP NOT NULL,
  ended_at TIMESTAMP NOT NULL,
  took_ms DOUBLE NOT NULL,
  turn_count INTEGER NOT NULL,
  step_count INTEGER NOT NULL,
  input_tokens BIGINT,
  output_tokens BIGINT,
  cached_tokens BIGINT,
  cost DOUBLE,
  citations JSON NOT NULL,
  warnings JSON NOT NULL,
  -- Of its texts, in this row and in those of its steps.
  byte_count BIGINT NOT NULL
);

-- Turns of the model and tool calls, in the order in which they began.
CREATE TABLE eider.trace_steps (
  trace_number BIGINT NOT NULL,
  trace_id VARCHAR NOT NULL,
  number INTEGER NOT NULL,
  kind VARCHAR NOT NULL,
  tool VARCHAR,
  input VARCHAR,
  observation VARCHAR,
  reasoning VARCHAR,
  start_ms DOUBLE NOT NULL,
  took_ms DOUBLE NOT NULL,
  first_piece_ms DOUBLE,
  finish VARCHAR,
  call_count INTEGER,
  input_tokens BIGINT,
  output_tokens BIGINT,
  cached_tokens BIGINT
);

CREATE TABLE eider.trace_feedback (
  trace_id VARCHAR NOT NULL,
  rating DOUBLE NOT NULL,
  comment VARCHAR,
  created_at TIMESTAMP NOT NULL
);
