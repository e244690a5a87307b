-- Who asked: a key or user, as `key 3`. Null: nobody knows, as of what was asked before and where there is no login.
ALTER TABLE eider.conversation_turns ADD COLUMN asked_by VARCHAR;
ALTER TABLE eider.traces ADD COLUMN asked_by VARCHAR;
