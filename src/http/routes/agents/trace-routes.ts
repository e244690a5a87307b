/** What questions to agents left behind. */

import { t } from 'elysia'
import { requireScope } from '../../../domain/access/principal.ts'
import { RUN_OUTCOMES, RUN_PURPOSES, traceNotFound } from '../../../domain/agents/agent-run.ts'
import { nameKey } from '../../../domain/identifier.ts'
import type { StoredTrace, TraceFilter, TraceSummary } from '../../../domain/ports/trace-ports.ts'
import { timestampOfMillis } from '../../../domain/timestamp.ts'
import { AppError } from '../../../errors.ts'
import {
  DELETED,
  FEEDBACK as FEEDBACK_RECORD,
  TRACE,
  TRACE_LIST,
} from '../../answers/records/agent-schemas.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../route-context.ts'

const ALL = '/api/traces'
const ONE = `${ALL}/:trace_id` as const

const FEEDBACK = bodySchema(
  t.Object(
    { rating: t.Number(), comment: t.Optional(t.Union([t.String(), t.Null()])) },
    { additionalProperties: false },
  ),
)

const COMMENT_CHARS_MAX = 4_000
const TEXT_CHARS_MAX = 1_000
const LIMIT_UNSET = 50
const LIMIT_MAX = 1000

const tag = 'Traces'
const missing = { 404: 'No such trace' }
const FILTERS = `\`project\`, \`agent\`, \`conversation_id\`, \`outcome\` (answered, failed, cancelled), \`purpose\` (question, evaluation); \`from\` and \`to\`: when it
began, as \`2026-05-01\` or \`2026-05-01T12:00:00Z\`; \`q\`: a part of the question, in whatever case`

export const addTraceRoutes: AddRoutes = (app, context) => {
  const { traces } = context.deps
  /** An answer and its steps show what its agent may read: they are for those who may ask it. */
  const projectsOf = (request: Request): Pick<TraceFilter, 'projectNames'> => {
    const { principal } = context.scopeOf(request)
    requireScope(principal, 'ask')
    const { namespaces } = principal
    return namespaces === null ? {} : { projectNames: [...namespaces].map(nameKey) }
  }
  const visibleTrace = async (request: Request, traceId: string): Promise<StoredTrace> => {
    const { projectNames } = projectsOf(request)
    const trace = await traces.get(traceId)
    if (projectNames?.includes(nameKey(trace.projectName)) !== false) return trace
    throw traceNotFound(traceId)
  }
  app.get(
    ALL,
    async ({ request }) => {
      const sent = parametersOf(request, ['limit', 'cursor'])
      const page = { limit: limitOf(sent), before: cursorOf(sent) }
      const { items, next } = await traces.list({ ...filterOf(sent), ...projectsOf(request) }, page)
      return Response.json({
        items: items.map(summaryRecord),
        next: next === null ? null : String(next),
      })
    },
    route({
      needs: 'read',
      id: 'listTraces',
      summary: 'List the runs of agents, the newest first',
      description: `Query parameters: ${FILTERS}; \`limit\` (50, at most 1000); \`cursor\`: \`next\` of the page before`,
      tag,
      answers: {
        200: { description: 'items, next (the cursor of the rest, or null)', schema: TRACE_LIST },
      },
    }),
  )
  app.delete(
    ALL,
    async ({ request }) => {
      const sent = parametersOf(request, ['all'])
      const filter = filterOf(sent)
      if ((Object.keys(filter).length === 0) !== (sent.get('all') === 'true')) {
        const how = 'Send filters for some of the traces, or "all=true" for every one'
        throw new AppError('missing_parameter', how)
      }
      return Response.json({ deleted: await traces.removeAll(filter) })
    },
    route({
      needs: 'admin',
      id: 'deleteTraces',
      summary: 'Delete the traces that filters name',
      description: `Query parameters: ${FILTERS}; or \`all=true\``,
      tag,
      answers: {
        200: { description: 'deleted: how many there were', schema: DELETED },
        400: 'Neither filters nor all=true',
      },
    }),
  )
  app.get(
    ONE,
    async ({ request, params }) => {
      return Response.json(traceRecord(await visibleTrace(request, params.trace_id)))
    },
    route({
      needs: 'read',
      id: 'getTrace',
      summary: 'Get a run of an agent with its turns and steps',
      tag,
      answers: { 200: { description: 'The trace', schema: TRACE }, ...missing },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      await traces.remove(params.trace_id)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'admin',
      id: 'deleteTrace',
      summary: 'Delete a trace',
      tag,
      answers: { 204: 'Deleted', ...missing },
    }),
  )
  app.post(
    `${ONE}/feedback`,
    async ({ request, params }) => {
      await visibleTrace(request, params.trace_id)
      const { rating, comment = null } = await readJson(context, request, FEEDBACK)
      if (!(rating >= -1 && rating <= 1)) {
        throw new AppError('invalid_request', 'rating must be a number from -1 to 1')
      }
      if ((comment?.length ?? 0) > COMMENT_CHARS_MAX) {
        throw new AppError('invalid_request', `comment has at most ${COMMENT_CHARS_MAX} characters`)
      }
      const plain = comment?.replaceAll('\0', '\uFFFD').toWellFormed() ?? null
      const feedback = await traces.rate(params.trace_id, { rating, comment: plain })
      return Response.json(feedbackRecord(feedback))
    },
    route({
      needs: 'ask',
      id: 'rateTrace',
      summary: 'Say what an answer was worth',
      description: 'It takes the place of what was said of this run before',
      tag,
      body: FEEDBACK,
      answers: { 200: { description: 'The feedback', schema: FEEDBACK_RECORD }, ...missing },
    }),
  )
}

const FILTER_PARAMETERS = [
  'project',
  'agent',
  'conversation_id',
  'outcome',
  'purpose',
  'from',
  'to',
  'q',
]

type Parameters = ReadonlyMap<string, string>

/** @throws AppError `unknown_field`, `invalid_request` */
function parametersOf(request: Request, own: readonly string[]): Parameters {
  const known = [...FILTER_PARAMETERS, ...own]
  const sent = new Map<string, string>()
  for (const [name, value] of new URL(request.url).searchParams) {
    if (!known.includes(name)) {
      const message = `Unknown parameter "${name.slice(0, 100)}"; there are: ${known.join(', ')}`
      throw new AppError('unknown_field', message)
    }
    if (sent.has(name)) throw wrong(name, 'is sent twice')
    if (value.length > TEXT_CHARS_MAX) throw wrong(name, `has at most ${TEXT_CHARS_MAX} characters`)
    if (value !== '') sent.set(name, value.replaceAll('\0', '\uFFFD').toWellFormed())
  }
  return sent
}

function filterOf(sent: Parameters): TraceFilter {
  const [projectName, agentName, conversationId, questionPart] = [
    'project',
    'agent',
    'conversation_id',
    'q',
  ].map((name) => sent.get(name))
  const outcome = oneOf(sent, 'outcome', RUN_OUTCOMES)
  const purpose = oneOf(sent, 'purpose', RUN_PURPOSES)
  const from = momentOf(sent, 'from')
  const to = momentOf(sent, 'to')
  return {
    ...(projectName === undefined ? {} : { projectName }),
    ...(agentName === undefined ? {} : { agentName }),
    ...(conversationId === undefined ? {} : { conversationId }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(purpose === undefined ? {} : { purpose }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(questionPart === undefined ? {} : { questionPart }),
  }
}

function oneOf<T extends string>(
  sent: Parameters,
  name: string,
  values: readonly T[],
): T | undefined {
  const text = sent.get(name)
  const found = values.find((value) => value === text)
  if (text === undefined || found !== undefined) return found
  throw wrong(name, `must be one of ${values.join(', ')}`)
}

const MOMENT = /^\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/

/** Without a time zone it is UTC, as every time here. */
function momentOf(sent: Parameters, name: 'from' | 'to'): string | undefined {
  const text = sent.get(name)
  if (text === undefined) return undefined
  // In an address `+` is a space.
  const written = text.replace(/ (?=\d\d:?\d\d$)/, (space) => (text.length > 20 ? '+' : space))
  const whole = written.length === 10 ? `${written}T00:00` : written.replace(' ', 'T')
  const millis = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(whole) ? whole : `${whole}Z`)
  if (MOMENT.test(written) && !Number.isNaN(millis)) return timestampOfMillis(millis)
  throw wrong(name, 'must be a day or a time, as 2026-05-01 or 2026-05-01T12:00:00Z')
}

function limitOf(sent: Parameters): number {
  const text = sent.get('limit')
  if (text === undefined) return LIMIT_UNSET
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= LIMIT_MAX) return limit
  throw wrong('limit', `must be a whole number from 1 to ${LIMIT_MAX}`)
}

function cursorOf(sent: Parameters): number | null {
  const text = sent.get('cursor')
  if (text === undefined) return null
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw wrong('cursor', 'must be "next" of the page before')
}

function wrong(name: string, what: string): AppError {
  return new AppError('invalid_request', `Parameter "${name}" ${what}`)
}

function summaryRecord(trace: TraceSummary) {
  return {
    trace_id: trace.traceId,
    project: trace.projectName,
    agent: trace.agentName,
    conversation_id: trace.conversationId,
    provider: trace.provider,
    model: trace.modelName,
    purpose: trace.purpose,
    question: trace.question,
    outcome: trace.outcome,
    error_code: trace.errorCode,
    started_at: trace.startedAt,
    ended_at: trace.endedAt,
    took_ms: trace.tookMs,
    turn_count: trace.turnCount,
    step_count: trace.stepCount,
    usage: usageRecord(trace.usage),
    cost: trace.cost,
    feedback: trace.feedback && feedbackRecord(trace.feedback),
  }
}

function traceRecord(trace: StoredTrace) {
  return {
    ...summaryRecord(trace),
    answer: trace.answer,
    error: trace.errorMessage,
    citations: trace.citations,
    warnings: trace.warnings,
    turns: trace.turns.map((turn) => ({
      start_ms: turn.startMs,
      took_ms: turn.tookMs,
      first_piece_ms: turn.firstPieceMs,
      finish: turn.finish,
      tool_calls: turn.callCount,
      usage: usageRecord(turn.usage),
      reasoning: turn.reasoning,
    })),
    steps: trace.steps.map((step) => ({
      start_ms: step.startMs,
      took_ms: step.tookMs,
      tool: step.tool,
      input: step.input,
      observation: step.observation,
    })),
  }
}

function usageRecord(usage: TraceSummary['usage']) {
  if (usage === null) return null
  const { inputTokens, outputTokens, cachedTokens } = usage
  return { input_tokens: inputTokens, output_tokens: outputTokens, cached_tokens: cachedTokens }
}

function feedbackRecord({ rating, comment, createdAt }: NonNullable<TraceSummary['feedback']>) {
  return { rating, comment, created_at: createdAt }
}
