-- Conversations with agents that clients go on with by their id. Without keys, and never updated in place, as jobs are since
-- step 8. The number of a turn grows with each turn of any conversation: the newest ones are found by it.
CREATE TABLE eider.conversation_turns (
  number BIGINT NOT NULL,
  conversation_id VARCHAR NOT NULL,
  project_id INTEGER NOT NULL,
  agent_id INTEGER NOT NULL,
  trace_id VARCHAR NOT NULL,
  question VARCHAR NOT NULL,
  answer VARCHAR,
  outcome VARCHAR NOT NULL,
  error_code VARCHAR,
  citations JSON NOT NULL,
  started_at TIMESTAMP NOT NULL,
  ended_at TIMESTAMP NOT NULL
);

-- Of the oldest turns of a conversation, up to `last_turn`. The row with the greatest one holds.
CREATE TABLE eider.conversation_summaries (
  conversation_id VARCHAR NOT NULL,
  project_id INTEGER NOT NULL,
  agent_id INTEGER NOT NULL,
  last_turn BIGINT NOT NULL,
  summary VARCHAR NOT NULL
);
