-- What an answer leans on besides its citations: rows, charts and warnings, as JSON. A text, since names of columns in it may
-- hold what JSON columns refuse. Null: there was nothing, or the turn was kept before.
ALTER TABLE eider.conversation_turns ADD COLUMN findings VARCHAR;
