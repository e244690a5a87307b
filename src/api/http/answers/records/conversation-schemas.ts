/** Conversations with agents as answers show them. */
import { t } from 'elysia'
import { COUNT, orNull, TEXTS, TIME } from '../../request/schema-words.ts'
import { CITATION, EVIDENCE, FINDINGS, NEXT, RUN_OUTCOME } from './agent-schemas.ts'

const CONVERSATION_FIELDS = {
  conversation_id: t.String(),
  title: t.String({ description: 'The beginning of its first question' }),
  turn_count: COUNT,
  started_at: TIME,
  ended_at: TIME,
}

export const CONVERSATION_LIST = t.Object(
  {
    items: t.Array(
      t.Object(
        {
          ...CONVERSATION_FIELDS,
          is_running: t.Boolean({ description: 'A question of it is being answered' }),
        },
        { $id: 'ConversationSummary' },
      ),
    ),
    next: NEXT,
  },
  { $id: 'ConversationList' },
)

export const CONVERSATION = t.Object(
  {
    ...CONVERSATION_FIELDS,
    summary: orNull(t.String(), { description: 'Of its oldest turns, where one was made' }),
    turns: t.Array(
      t.Object(
        {
          question: t.String(),
          answer: orNull(t.String()),
          outcome: RUN_OUTCOME,
          error_code: orNull(t.String()),
          trace_id: t.String(),
          citations: t.Array(CITATION),
          evidence: t.Optional(EVIDENCE),
          ...FINDINGS,
          warnings: TEXTS,
          started_at: TIME,
          ended_at: TIME,
        },
        { $id: 'ConversationTurn' },
      ),
    ),
    running: orNull(
      t.Object(
        {
          trace_id: t.String(),
          question: t.String(),
          started_at: TIME,
          seconds: t.Number({ minimum: 0, description: 'Since then' }),
        },
        { $id: 'TurnInProgress' },
      ),
      { description: 'The question that is being answered; null: none, or it is among the turns' },
    ),
    next: NEXT,
  },
  { $id: 'Conversation' },
)
