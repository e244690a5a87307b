import { t } from 'elysia'
import type { ConversationTurn } from '../../../core/domain/agents/agent.ts'
import { AppError } from '../../../core/errors.ts'
import { maybe, optionally } from '../request/schema-words.ts'
import { bodySchema } from './body.ts'
import { RESPONSE_FORMAT } from './definition-shapes.ts'

const MESSAGE = t.Object({
  question: maybe(t.String()),
  answer: maybe(t.String()),
  role: t.Optional(t.String()),
  content: maybe(t.String()),
})

type SentMessage = (typeof MESSAGE)['static']

export const COMPLETION = bodySchema(
  t.Object(
    {
      messages: t.Array(MESSAGE, {
        description:
          'Turns as {"question", "answer"} or {"role", "content"}; the last question is asked',
      }),
      response_format: optionally(RESPONSE_FORMAT),
      conversation_id: maybe(t.String(), {
        description:
          '"new" stores the conversation and returns its id; an id continues that conversation',
      }),
      background: maybe(t.Boolean(), {
        description:
          'true: the question finishes even if its client leaves; needs a conversation_id',
      }),
      stream_options: maybe(t.Object({ deltas: t.Optional(t.Boolean()) })),
    },
    {
      $id: 'CompletionRequest',
      examples: [{ messages: [{ question: 'Which tea has no caffeine?', answer: '' }] }],
    },
  ),
)

export interface Conversation {
  readonly question: string
  /** Oldest first. */
  readonly history: readonly ConversationTurn[]
}

/**
 * The question, and the history. Both forms of a message may be mixed.
 * @throws AppError `invalid_request` without a question
 */
export function conversationOf(messages: readonly SentMessage[]): Conversation {
  const turns = messages.flatMap(turnsOf)
  const last = turns.findLastIndex((turn) => turn.role === 'user')
  const question = turns[last]?.content ?? ''
  if (question.trim() !== '') return { question, history: turns.slice(0, last) }
  const expected = '{"question": "…", "answer": ""} or {"role": "user", "content": "…"}'
  throw new AppError('invalid_request', `"messages" holds no question; expected ${expected}`)
}

function turnsOf(message: SentMessage, index: number): readonly ConversationTurn[] {
  const { question, answer, role, content } = message
  if (role !== undefined) {
    // Instructions belong to the agent; a conversation cannot replace them.
    if (role !== 'user' && role !== 'assistant') throw unknownRole(role, index)
    return isText(content) ? [{ role, content }] : []
  }
  const turns: ConversationTurn[] = isText(question) ? [{ role: 'user', content: question }] : []
  return isText(answer) ? [...turns, { role: 'assistant', content: answer }] : turns
}

function isText(value: string | null | undefined): value is string {
  return value !== null && value !== undefined && value !== ''
}

function unknownRole(role: string, index: number): AppError {
  const expected = 'expected "user" or "assistant"'
  const found = `"messages[${index}].role" is "${role.slice(0, 40)}"`
  return new AppError('invalid_request', `${found}; ${expected}`)
}
