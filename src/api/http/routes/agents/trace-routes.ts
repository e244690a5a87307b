/** What questions to agents left behind. */

import { t } from 'elysia'
import { askerOf, maySeeAsked, requireScope } from '../../../../core/domain/access/principal.ts'
import {
  RUN_OUTCOMES,
  RUN_PURPOSES,
  traceNotFound,
} from '../../../../core/domain/agents/agent-run.ts'
import { nameKey } from '../../../../core/domain/identifier.ts'
import type {
  StoredTrace,
  TraceFilter,
  TraceSummary,
} from '../../../../core/domain/ports/conversation-ports.ts'
import { AppError } from '../../../../core/errors.ts'
import {
  DELETED,
  FEEDBACK as FEEDBACK_RECORD,
  TRACE,
  TRACE_LIST,
} from '../../answers/records/agent-schemas.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import {
  choice,
  cursor,
  moment,
  parsedText,
  queryParameters,
  truth,
  wholeNumber,
} from '../../bodies/query-parameters.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'

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
const tag = 'Traces'
const missing = { 404: 'No such trace' }

function words(description: string, examples: readonly string[] = []) {
  return parsedText({ description, charsMax: TEXT_CHARS_MAX, examples }, (sent) => {
    return sent.replaceAll('\0', '\uFFFD').toWellFormed()
  })
}

const FILTERS = {
  project: words('Those of a project'),
  agent: words('Those of an agent'),
  conversation_id: words('Those of a conversation'),
  outcome: choice(RUN_OUTCOMES, { description: 'How it ended' }),
  purpose: choice(RUN_PURPOSES, { description: 'What it was for' }),
  from: moment({ description: 'Begun at this time or after' }),
  to: moment({ description: 'Begun before this time' }),
  q: words('A part of the question, in whatever case'),
}
const LIST = queryParameters({
  ...FILTERS,
  limit: wholeNumber({ min: 1, max: 1000, unset: 50, description: 'Traces of a page' }),
  cursor: cursor(),
})
const SELECTION = queryParameters({
  ...FILTERS,
  all: truth({ description: 'Every trace; required where there are no filters' }),
})

export const addTraceRoutes: AddRoutes = (app, context) => {
  const { traces } = context.deps
  /** An answer and its steps show what its agent may read: they are for those who may ask it. */
  const visibleTo = (request: Request) => {
    const { principal } = context.scopeOf(request)
    requireScope(principal, 'ask')
    const { namespaces } = principal
    const projects = namespaces === null ? {} : { projectNames: [...namespaces].map(nameKey) }
    return { asker: askerOf(principal), ...projects } satisfies TraceFilter
  }
  const visibleTrace = async (request: Request, traceId: string): Promise<StoredTrace> => {
    const { asker, projectNames } = visibleTo(request)
    const trace = await traces.get(traceId)
    const isInside = projectNames?.includes(nameKey(trace.projectName)) ?? true
    if (isInside && maySeeAsked(asker, trace.askedBy)) return trace
    throw traceNotFound(traceId)
  }
  app.get(
    ALL,
    async ({ request }) => {
      const sent = LIST.read(request)
      const before = sent.cursor === undefined ? null : Number(sent.cursor)
      const page = { limit: sent.limit, before }
      const { items, next } = await traces.list({ ...filterOf(sent), ...visibleTo(request) }, page)
      return Response.json({
        items: items.map(summaryRecord),
        next: next === null ? null : String(next),
      })
    },
    route({
      needs: 'read',
      id: 'listTraces',
      summary: 'List the runs of agents, the newest first',
      tag,
      query: LIST,
      answers: {
        200: { description: 'items, next (the cursor of the rest, or null)', schema: TRACE_LIST },
      },
    }),
  )
  app.delete(
    ALL,
    async ({ request }) => {
      const sent = SELECTION.read(request)
      const filter = filterOf(sent)
      if ((Object.keys(filter).length === 0) !== sent.all) {
        const how = 'Send filters for some of the traces, or "all=true" for every one'
        throw new AppError('missing_parameter', how)
      }
      return Response.json({ deleted: await traces.removeAll(filter) })
    },
    route({
      needs: 'admin',
      id: 'deleteTraces',
      summary: 'Delete the traces that filters name',
      tag,
      query: SELECTION,
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

/** Those that were sent. */
function filterOf(sent: ReturnType<typeof LIST.read> | ReturnType<typeof SELECTION.read>) {
  const { project, agent, conversation_id: conversationId, outcome, purpose, from, to, q } = sent
  const [projectName, agentName, questionPart] = [project, agent, q]
  return {
    ...(projectName === undefined ? {} : { projectName }),
    ...(agentName === undefined ? {} : { agentName }),
    ...(conversationId === undefined ? {} : { conversationId }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(purpose === undefined ? {} : { purpose }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(questionPart === undefined ? {} : { questionPart }),
  } satisfies TraceFilter
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
