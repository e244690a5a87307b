/** Agents, their answers and traces as answers show them. */
import { t } from 'elysia'
import { RUN_OUTCOMES, RUN_PURPOSES } from '../../../../core/domain/agents/agent-run.ts'
import {
  EVIDENCE_LEVELS,
  FAILURE_TYPES,
  type FailureType,
} from '../../../../core/domain/agents/completion-event.ts'
import { COUNT, oneOf, orNull, TEXTS, TIME } from '../../request/schema-words.ts'
import { SHOWN_MODEL } from './knowledge-base-schemas.ts'

const AGENT_FIELDS = {
  id: t.Integer(),
  name: t.String(),
  project_id: t.Integer(),
  created_at: TIME,
  updated_at: TIME,
  data: t.Object(
    {
      knowledge_bases: t.Optional(TEXTS),
      tables: t.Optional(TEXTS),
      mcp: t.Optional(
        t.Array(
          t.Object(
            {
              name: t.String(),
              url: t.String(),
              headers: t.Optional(t.Record(t.String(), t.String())),
              tools: TEXTS,
            },
            { $id: 'ShownMcpServer', description: 'A server whose tools the agent calls' },
          ),
        ),
      ),
    },
    { $id: 'ShownAgentData', description: 'What the agent may read; empty: nothing' },
  ),
  model: t.Union([SHOWN_MODEL, t.Object({})], {
    description: 'Empty: the one of the settings, else the built-in one',
  }),
  prompt_template: t.String(),
  params: t.Object(
    {
      timeout: t.Optional(t.Integer({ description: 'Seconds' })),
      max_steps: t.Optional(t.Integer()),
      mode: t.Optional(oneOf(['text', 'sql'])),
      return_context: t.Optional(t.Boolean()),
    },
    { $id: 'AgentParams' },
  ),
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

export const FAILURE_TYPE = oneOf<FailureType>(
  [...new Set(Object.values(FAILURE_TYPES)), 'not_found'],
  {
    $id: 'FailureType',
  },
)

const USAGE = t.Object(
  {
    input_tokens: COUNT,
    output_tokens: COUNT,
    cached_tokens: COUNT,
  },
  { $id: 'TokenUsage', description: 'Tokens as the provider counted them' },
)

export const AGENT_PROBE = t.Object(
  {
    ok: t.Boolean(),
    url: orNull(t.String(), { description: 'What was called; null: nothing was' }),
    status: orNull(t.Integer()),
    error_type: orNull(FAILURE_TYPE),
    cause: orNull(t.String()),
    model: t.Object({ provider: t.String(), model_name: t.String() }),
    streaming: orNull(t.Boolean(), { description: 'null: it has not been found out' }),
    tools: orNull(t.Boolean()),
    usage: orNull(USAGE),
    took_ms: COUNT,
    warnings: TEXTS,
    next_step: orNull(t.String()),
  },
  { $id: 'AgentProbe' },
)

export const CITATION = t.Object(
  {
    knowledge_base: t.String(),
    document_id: t.String(),
    chunk_id: t.String(),
    text: t.String({ description: 'The quote: it stands in the chunk, word for word' }),
    start: orNull(COUNT, { description: 'Offsets in the column, in UTF-16 code units' }),
    end: orNull(COUNT),
    page: orNull(t.Integer(), { description: 'The page or slide of the first character' }),
    heading: orNull(t.String()),
    relevance: orNull(t.Number()),
  },
  { $id: 'Citation', description: 'Where a statement of the answer comes from' },
)

const ROWS = {
  sql: t.String(),
  column_names: TEXTS,
  data: t.Array(t.Array(t.Unknown())),
}

const STATEMENT_ROWS = t.Object(
  { ...ROWS, is_cut: t.Boolean({ description: 'There are more rows than these' }) },
  { $id: 'StatementRows', description: 'A statement over tables whose rows the answer is made of' },
)

const CHART = t.Object(
  { spec: t.Record(t.String(), t.Unknown(), { description: 'Vega-Lite 5' }), ...ROWS },
  { $id: 'Chart' },
)

export const EVIDENCE = oneOf(EVIDENCE_LEVELS, {
  description: '`closest`: the passage is near but may not answer; `none`: nothing found answers',
})

export const FINDINGS = {
  statements: t.Optional(t.Array(STATEMENT_ROWS)),
  charts: t.Optional(t.Array(CHART)),
  result: t.Optional(
    orNull(STATEMENT_ROWS, { description: 'The last statement of an agent of the mode `sql`' }),
  ),
}

/** Of an answer that a model gave. */
export const LOW_EVIDENCE = t.Optional(
  t.Literal(true, {
    description: 'The model answered, but nothing that it read seems to answer the question',
  }),
)

export const ANSWER = t.Object(
  {
    message: t.Object(
      {
        content: t.String(),
        role: oneOf(['assistant']),
        trace_id: t.String(),
        conversation_id: t.Optional(t.String()),
        citations: t.Array(CITATION),
        evidence: EVIDENCE,
        low_evidence: LOW_EVIDENCE,
        ...FINDINGS,
        context: t.Optional(
          t.Array(t.String(), { description: 'The texts that the model was shown' }),
        ),
      },
      { $id: 'AnswerMessage' },
    ),
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

const ACTION = t.Object(
  {
    tool: t.String(),
    tool_input: t.String(),
    log: t.String({ description: 'The reasoning before the call' }),
  },
  { $id: 'AgentAction' },
)

const MESSAGES = t.Array(t.Object({ content: t.String() }))

const WATCHED = {
  at_ms: t.Optional(
    t.Integer({
      minimum: 0,
      description: 'Only of a question that is watched: when it happened, since it was asked',
    }),
  ),
}

/** One `data:` chunk each, in this order; `end` comes last, exactly once. */
export const COMPLETION_EVENT = t.Union(
  [
    t.Object(
      {
        type: oneOf(['start']),
        prompt: t.String(),
        trace_id: t.String(),
        conversation_id: t.Optional(t.String()),
        ...WATCHED,
      },
      { $id: 'StartEvent' },
    ),
    t.Object(
      { actions: t.Array(ACTION), messages: MESSAGES, trace_id: t.String(), ...WATCHED },
      { $id: 'ActionsEvent' },
    ),
    t.Object(
      {
        steps: t.Array(t.Object({ action: ACTION, observation: t.String() }, { $id: 'AgentStep' })),
        messages: MESSAGES,
        trace_id: t.String(),
        ...WATCHED,
      },
      { $id: 'StepsEvent' },
    ),
    t.Object(
      { type: oneOf(['delta']), content: t.String(), trace_id: t.String(), ...WATCHED },
      { $id: 'DeltaEvent', description: 'Only with `stream_options.deltas`' },
    ),
    t.Object(
      {
        output: t.String(),
        messages: MESSAGES,
        trace_id: t.String(),
        conversation_id: t.Optional(t.String()),
        citations: t.Array(CITATION),
        evidence: EVIDENCE,
        low_evidence: LOW_EVIDENCE,
        ...FINDINGS,
        warnings: TEXTS,
        ...WATCHED,
      },
      { $id: 'OutputEvent', description: 'The answer' },
    ),
    t.Object(
      {
        type: oneOf(['error']),
        content: t.String(),
        error_type: FAILURE_TYPE,
        error_code: t.String({ description: '`cancelled`: somebody stopped it' }),
        trace_id: t.String(),
      },
      { $id: 'ErrorEvent', description: 'In the place of the answer' },
    ),
    t.Object({ type: oneOf(['end']) }, { $id: 'EndEvent' }),
  ],
  { $id: 'CompletionEvent' },
)

export const RUNNING_QUESTION = t.Object(
  {
    trace_id: t.String(),
    agent: t.String(),
    project: t.String(),
    question: t.String({ description: 'Its beginning' }),
    state: oneOf(['waiting', 'running']),
    steps: COUNT,
    seconds: t.Number({ minimum: 0 }),
    model: t.Object({ provider: t.String(), model_name: t.String() }),
  },
  { $id: 'RunningQuestion' },
)

export const NEXT = orNull(t.String(), {
  description: 'The `cursor` of the rest; null: there is none',
})
export const RUN_OUTCOME = oneOf(RUN_OUTCOMES, { $id: 'RunOutcome' })

export const FEEDBACK = t.Object(
  {
    rating: t.Number({ minimum: -1, maximum: 1 }),
    comment: orNull(t.String()),
    created_at: TIME,
  },
  { $id: 'Feedback', description: 'What somebody thought of an answer' },
)

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
  cost: orNull(t.Number(), { description: 'By the price table; null: no price is known' }),
  feedback: orNull(FEEDBACK),
}

export const TRACE_LIST = t.Object(
  { items: t.Array(t.Object(TRACE_FIELDS, { $id: 'TraceSummary' })), next: NEXT },
  { $id: 'TraceList' },
)

export const TRACE = t.Object(
  {
    ...TRACE_FIELDS,
    answer: orNull(t.String()),
    error: orNull(t.String()),
    citations: t.Array(CITATION),
    warnings: TEXTS,
    evidence: orNull(EVIDENCE),
    turns: t.Array(
      t.Object(
        {
          start_ms: t.Number(),
          took_ms: t.Number(),
          first_piece_ms: orNull(t.Number()),
          finish: oneOf(['stop', 'tool_calls', 'length', 'filter', 'refusal']),
          tool_calls: COUNT,
          usage: orNull(USAGE),
          reasoning: t.String(),
        },
        { $id: 'ModelTurn' },
      ),
    ),
    steps: t.Array(
      t.Object(
        {
          start_ms: t.Number(),
          took_ms: t.Number(),
          tool: t.String(),
          input: t.String(),
          observation: t.String(),
        },
        { $id: 'ToolStep' },
      ),
    ),
  },
  { $id: 'Trace', description: 'What one question to an agent left behind' },
)

export const DELETED = t.Object({ deleted: COUNT }, { $id: 'Deleted' })
