/** Schemas of agents, their answers, traces and conversations. */
import { t } from 'elysia'
import {
  EVIDENCE_LEVELS,
  FAILURE_NAMES,
  type FailureType,
  RUN_OUTCOMES,
  RUN_PURPOSES,
} from '../../../../core/domain/agents/completion-event.ts'
import {
  COUNT,
  integer,
  maybe,
  named,
  oneOf,
  orNull,
  TEXTS,
  TIME,
} from '../../request/schema-words.ts'
import { SHOWN_MODEL } from './knowledge-base-schemas.ts'

const AGENT_FIELDS = {
  id: integer(),
  name: t.String(),
  project_id: integer(),
  created_at: TIME,
  updated_at: TIME,
  data: named('ShownAgentData', 'What the agent can read; if empty, nothing', {
    knowledge_bases: t.Optional(TEXTS),
    tables: t.Optional(TEXTS),
    mcp: t.Optional(
      t.Array(
        named('ShownMcpServer', 'A server whose tools the agent calls', {
          name: t.String(),
          url: t.String(),
          headers: t.Optional(t.Record(t.String(), t.String())),
          tools: TEXTS,
        }),
      ),
    ),
  }),
  model: t.Union([SHOWN_MODEL, t.Object({})], {
    description: 'If empty, the model in the settings, or else the built-in one',
  }),
  prompt_template: t.String(),
  params: named('AgentParams', {
    timeout: t.Optional(integer({ description: 'Seconds' })),
    max_steps: t.Optional(integer()),
    mode: t.Optional(oneOf(['text', 'sql'])),
    return_context: t.Optional(t.Boolean()),
  }),
}

const AGENT_EXAMPLE = {
  id: 3,
  name: 'sommelier',
  project_id: 1,
  created_at: '2026-04-30 12:00:00.000000',
  updated_at: '2026-04-30 12:00:00.000000',
  data: { knowledge_bases: ['mindsdb.teas'], tables: [] },
  model: {},
  prompt_template: '',
  params: {},
}

export const AGENT = t.Object(AGENT_FIELDS, { $id: 'Agent', examples: [AGENT_EXAMPLE] })

export const SAVED_AGENT = t.Object(
  { ...AGENT_FIELDS, warnings: TEXTS },
  { $id: 'SavedAgent', examples: [{ ...AGENT_EXAMPLE, warnings: [] }] },
)

const FAILURE_TYPE = oneOf<FailureType>([...FAILURE_NAMES], { $id: 'FailureType' })

const USAGE = named('TokenUsage', 'Tokens as the provider counted them', {
  input_tokens: COUNT,
  output_tokens: COUNT,
  cached_tokens: COUNT,
})

export const AGENT_PROBE = named('AgentProbe', {
  ok: t.Boolean(),
  url: orNull(t.String(), { description: 'The URL called, or null' }),
  status: orNull(integer()),
  error_type: orNull(FAILURE_TYPE),
  cause: orNull(t.String()),
  model: t.Object({ provider: t.String(), model_name: t.String() }),
  streaming: orNull(t.Boolean(), { description: 'null if unknown' }),
  tools: orNull(t.Boolean()),
  usage: orNull(USAGE),
  took_ms: COUNT,
  warnings: TEXTS,
  next_step: orNull(t.String()),
})

const CITATION = named('Citation', 'A quote that supports the answer', {
  knowledge_base: t.String(),
  document_id: t.String(),
  chunk_id: t.String(),
  text: t.String({ description: 'The quote, exactly as in the chunk' }),
  start: orNull(COUNT, { description: 'Offset in the column, in UTF-16 code units' }),
  end: orNull(COUNT),
  page: orNull(integer(), { description: 'Page or slide of the first character' }),
  heading: orNull(t.String()),
  relevance: orNull(t.Number()),
})

const ROWS = {
  sql: t.String(),
  column_names: TEXTS,
  data: t.Array(t.Array(t.Unknown())),
}

const STATEMENT_ROWS = named(
  'StatementRows',
  'A statement over tables, with rows that the answer uses',
  {
    ...ROWS,
    is_cut: t.Boolean({ description: 'Whether there are more rows' }),
  },
)

const CHART = named('Chart', {
  spec: t.Record(t.String(), t.Unknown(), { description: 'Vega-Lite 5' }),
  ...ROWS,
})

const EVIDENCE = oneOf(EVIDENCE_LEVELS, {
  description:
    '`closest` if the passage is related but may not answer, `none` if no answer was found, else `answer`',
})

const FINDINGS = {
  statements: t.Optional(t.Array(STATEMENT_ROWS)),
  charts: t.Optional(t.Array(CHART)),
  result: maybe(STATEMENT_ROWS, {
    description: 'The last statement of an agent in `sql` mode',
  }),
}

const LOW_EVIDENCE = t.Optional(
  t.Literal(true, {
    description: 'The model answered, but no text it read seems to answer the question',
  }),
)
const SUPPORT = { evidence: EVIDENCE, low_evidence: LOW_EVIDENCE }

export const ANSWER = t.Object(
  {
    message: named('AnswerMessage', {
      content: t.String(),
      role: oneOf(['assistant']),
      trace_id: t.String(),
      conversation_id: t.Optional(t.String()),
      citations: t.Array(CITATION),
      ...SUPPORT,
      ...FINDINGS,
      context: t.Optional(t.Array(t.String(), { description: 'The text shown to the model' })),
    }),
    warnings: TEXTS,
  },
  {
    $id: 'Answer',
    examples: [
      {
        message: {
          content: '"Rooibos is a red herbal infusion from South Africa without caffeine"',
          role: 'assistant',
          trace_id: '8a8f6f0e-52a1-4a6f-9f43-7b5f5f3b1c55',
          citations: [
            {
              knowledge_base: 'mindsdb.teas',
              document_id: '3',
              chunk_id: '3:content:1of1:0to67',
              text: 'Rooibos is a red herbal infusion from South Africa without caffeine',
              start: 0,
              end: 67,
              page: null,
              heading: null,
              relevance: 0.62,
            },
          ],
          evidence: 'answer',
        },
        warnings: [],
      },
    ],
  },
)

const ACTION = named('AgentAction', {
  tool: t.String(),
  tool_input: t.String(),
  log: t.String({ description: 'The model’s reasoning before the call' }),
})

const MESSAGES = t.Array(t.Object({ content: t.String() }))

const WATCHED = {
  at_ms: t.Optional(
    integer({
      minimum: 0,
      description: 'Milliseconds since the question; only in the stream of a running question',
    }),
  ),
}

/** Each event is one `data:` chunk, in this order; `end` comes last and exactly once. */
export const COMPLETION_EVENT = t.Union(
  [
    named('StartEvent', {
      type: oneOf(['start']),
      prompt: t.String(),
      trace_id: t.String(),
      conversation_id: t.Optional(t.String()),
      ...WATCHED,
    }),
    named('ActionsEvent', {
      actions: t.Array(ACTION),
      messages: MESSAGES,
      trace_id: t.String(),
      ...WATCHED,
    }),
    named('StepsEvent', {
      steps: t.Array(named('AgentStep', { action: ACTION, observation: t.String() })),
      messages: MESSAGES,
      trace_id: t.String(),
      ...WATCHED,
    }),
    named('DeltaEvent', 'A piece of the answer; sent only with `stream_options.deltas`', {
      type: oneOf(['delta']),
      content: t.String(),
      trace_id: t.String(),
      ...WATCHED,
    }),
    named('OutputEvent', 'The answer', {
      output: t.String(),
      messages: MESSAGES,
      trace_id: t.String(),
      conversation_id: t.Optional(t.String()),
      citations: t.Array(CITATION),
      ...SUPPORT,
      ...FINDINGS,
      warnings: TEXTS,
      ...WATCHED,
    }),
    named('ErrorEvent', 'Sent instead of the answer', {
      type: oneOf(['error']),
      content: t.String(),
      error_type: FAILURE_TYPE,
      error_code: t.String({ description: 'An error code, such as `cancelled`' }),
      trace_id: t.String(),
    }),
    named('EndEvent', { type: oneOf(['end']) }),
  ],
  { $id: 'CompletionEvent' },
)

export const RUNNING_QUESTION = named('RunningQuestion', {
  trace_id: t.String(),
  agent: t.String(),
  project: t.String(),
  question: t.String({ description: 'The start of the question' }),
  state: oneOf(['waiting', 'running']),
  steps: COUNT,
  seconds: t.Number({ minimum: 0 }),
  model: t.Object({ provider: t.String(), model_name: t.String() }),
})

const NEXT = orNull(t.String(), {
  description: 'The `cursor` of the next page, or null',
})
const RUN_OUTCOME = oneOf(RUN_OUTCOMES, { $id: 'RunOutcome' })

export const FEEDBACK = named('Feedback', 'A rating of an answer', {
  rating: t.Number({ minimum: -1, maximum: 1 }),
  comment: orNull(t.String()),
  created_at: TIME,
})

const TRACE_FIELDS = {
  trace_id: t.String(),
  project: t.String(),
  agent: t.String(),
  conversation_id: orNull(t.String()),
  provider: t.String(),
  model: t.String(),
  purpose: oneOf(RUN_PURPOSES, { $id: 'RunPurpose' }),
  question: t.String(),
  outcome: RUN_OUTCOME,
  error_code: orNull(t.String()),
  started_at: TIME,
  ended_at: TIME,
  took_ms: t.Number({ minimum: 0 }),
  turn_count: COUNT,
  step_count: COUNT,
  usage: orNull(USAGE),
  cost: orNull(t.Number(), {
    description: 'Computed from the price table; null without a price',
  }),
  feedback: orNull(FEEDBACK),
}

export const TRACE_SUMMARY = named('TraceSummary', TRACE_FIELDS)
export const TRACE_LIST = named('TraceList', { items: t.Array(TRACE_SUMMARY), next: NEXT })

export const MODEL_TURN = named('ModelTurn', {
  start_ms: t.Number(),
  took_ms: t.Number(),
  first_piece_ms: orNull(t.Number()),
  finish: oneOf(['stop', 'tool_calls', 'length', 'filter', 'refusal']),
  tool_calls: COUNT,
  usage: orNull(USAGE),
  reasoning: t.String(),
})

export const TRACE = named('Trace', 'The record of one question to an agent', {
  ...TRACE_FIELDS,
  answer: orNull(t.String()),
  error: orNull(t.String()),
  citations: t.Array(CITATION),
  warnings: TEXTS,
  evidence: orNull(EVIDENCE),
  turns: t.Array(MODEL_TURN),
  steps: t.Array(
    named('ToolStep', {
      start_ms: t.Number(),
      took_ms: t.Number(),
      tool: t.String(),
      input: t.String(),
      observation: t.String(),
    }),
  ),
})

export const DELETED = named('Deleted', { deleted: COUNT })

const CONVERSATION_FIELDS = {
  conversation_id: t.String(),
  title: t.String({ description: 'The start of its first question' }),
  turn_count: COUNT,
  started_at: TIME,
  ended_at: TIME,
}

export const CONVERSATION_SUMMARY = named('ConversationSummary', {
  ...CONVERSATION_FIELDS,
  is_running: t.Boolean({ description: 'Whether a question is running' }),
})
export const CONVERSATION_LIST = named('ConversationList', {
  items: t.Array(CONVERSATION_SUMMARY),
  next: NEXT,
})

export const CONVERSATION_TURN = named('ConversationTurn', {
  question: t.String(),
  answer: orNull(t.String()),
  outcome: RUN_OUTCOME,
  error_code: orNull(t.String()),
  trace_id: t.String(),
  citations: t.Array(CITATION),
  evidence: t.Optional(EVIDENCE),
  low_evidence: LOW_EVIDENCE,
  ...FINDINGS,
  warnings: TEXTS,
  started_at: TIME,
  ended_at: TIME,
})

export const TURN_IN_PROGRESS = named('TurnInProgress', {
  trace_id: t.String(),
  question: t.String(),
  started_at: TIME,
  seconds: t.Number({ minimum: 0, description: 'Seconds since the question' }),
})

export const CONVERSATION = named('Conversation', {
  ...CONVERSATION_FIELDS,
  summary: orNull(t.String(), { description: 'A summary of its oldest turns, if any' }),
  turns: t.Array(CONVERSATION_TURN),
  running: orNull(TURN_IN_PROGRESS, {
    description: 'The running question, or null',
  }),
  next: NEXT,
})
