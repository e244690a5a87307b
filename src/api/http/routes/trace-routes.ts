import { t } from 'elysia'
import {
  askerOf,
  maySeeAsked,
  type Principal,
  requireScope,
} from '../../../core/domain/access/principal.ts'
import {
  RUN_OUTCOMES,
  RUN_PURPOSES,
  traceNotFound,
} from '../../../core/domain/agents/completion-event.ts'
import { nameKey } from '../../../core/domain/names.ts'
import type {
  StoredTrace,
  TraceFilter,
  TraceSummary,
} from '../../../core/domain/ports/conversation-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { definedFields } from '../../../core/json.ts'
import { recordOf } from '../answers/record-of.ts'
import {
  DELETED,
  FEEDBACK as FEEDBACK_RECORD,
  MODEL_TURN,
  TRACE,
  TRACE_LIST,
  TRACE_SUMMARY,
} from '../answers/records/agent-schemas.ts'
import { bodySchema } from '../bodies/body.ts'
import {
  choice,
  moment,
  nextCursor,
  pageBefore,
  paging,
  parsedText,
  queryParameters,
  truth,
} from '../bodies/query-parameters.ts'
import { maybe, strict } from '../request/schema-words.ts'
import { resource } from './operation.ts'

const TRACES_PATH = '/api/traces'
const TRACE_PATH = `${TRACES_PATH}/:trace_id` as const

const FEEDBACK = bodySchema(strict({ rating: t.Number(), comment: maybe(t.String()) }))

const COMMENT_CHARS_MAX = 4_000
const TEXT_CHARS_MAX = 1_000

function words(description: string) {
  return parsedText({ description, charsMax: TEXT_CHARS_MAX, examples: [] }, (sent) => {
    return sent.replaceAll('\0', '\uFFFD').toWellFormed()
  })
}

const FILTERS = {
  project: words('Traces of this project'),
  agent: words('Traces of this agent'),
  conversation_id: words('Traces of this conversation'),
  outcome: choice(RUN_OUTCOMES, { description: 'How the run ended' }),
  purpose: choice(RUN_PURPOSES, { description: 'The purpose of the question' }),
  from: moment({ description: 'Runs that started at this time or later' }),
  to: moment({ description: 'Runs that started before this time' }),
  q: words('Part of the question, ignoring case'),
}
const TRACES_QUERY = queryParameters({
  ...FILTERS,
  ...paging('Traces per page'),
})
const SELECTION = queryParameters({
  ...FILTERS,
  all: truth({ description: 'Delete every trace; required if there are no filters' }),
})

export const traceOperations = resource('Traces', (api, context) => {
  const { traces } = context.deps
  /** Answers show data of the agent, so only principals who may ask it see them. */
  const visibleTo = (principal: Principal) => {
    requireScope(principal, 'ask')
    const { namespaces } = principal
    const projects = namespaces === null ? {} : { projectNames: [...namespaces].map(nameKey) }
    return { asker: askerOf(principal), ...projects } satisfies TraceFilter
  }
  const visibleTrace = async (principal: Principal, traceId: string): Promise<StoredTrace> => {
    const { asker, projectNames } = visibleTo(principal)
    const trace = await traces.get(traceId)
    const isInside = projectNames?.includes(nameKey(trace.projectName)) ?? true
    if (isInside && maySeeAsked(asker, trace.askedBy)) return trace
    throw traceNotFound(traceId)
  }
  api.get(TRACES_PATH, {
    id: 'listTraces',
    summary: 'List the runs of agents, newest first',
    query: TRACES_QUERY,
    answers: { 200: ['`items`, and `next`: the cursor of the next page, or null', TRACE_LIST] },
    async run({ principal, query: sent }) {
      const filter = { ...filterOf(sent), ...visibleTo(principal) }
      const { items, next } = await traces.list(filter, pageBefore(sent))
      return { items: items.map(summaryRecord), next: nextCursor(next) }
    },
  })
  api.delete(TRACES_PATH, {
    id: 'deleteTraces',
    summary: 'Delete the traces that match the filters',
    needs: 'admin',
    query: SELECTION,
    answers: {
      200: ['Number of traces deleted', DELETED],
      400: 'The request has neither filters nor all=true',
    },
    async run({ query: sent }) {
      const filter = filterOf(sent)
      if ((Object.keys(filter).length === 0) !== sent.all) {
        const how = 'Send filters to select traces, or "all=true" for all'
        throw new AppError('missing_parameter', how)
      }
      return { deleted: await traces.removeAll(filter) }
    },
  })
  api.get(TRACE_PATH, {
    id: 'getTrace',
    summary: 'Get an agent’s run with its turns and steps',
    answers: { 200: ['The trace', TRACE] },
    run: async ({ principal, params }) =>
      traceRecord(await visibleTrace(principal, params.trace_id)),
  })
  api.delete(TRACE_PATH, {
    id: 'deleteTrace',
    summary: 'Delete a trace',
    needs: 'admin',
    run: ({ params }) => traces.remove(params.trace_id),
  })
  api.post(`${TRACE_PATH}/feedback`, {
    id: 'rateTrace',
    summary: 'Rate an answer',
    description: 'Replaces an earlier rating of this run.',
    needs: 'ask',
    body: FEEDBACK,
    answers: { 200: ['The feedback', FEEDBACK_RECORD] },
    async run({ principal, params, body: { rating, comment = null } }) {
      await visibleTrace(principal, params.trace_id)
      if (!(rating >= -1 && rating <= 1)) {
        throw new AppError('invalid_request', '"rating" must be a number from -1 to 1')
      }
      if ((comment?.length ?? 0) > COMMENT_CHARS_MAX) {
        const message = `"comment" may have at most ${COMMENT_CHARS_MAX} characters`
        throw new AppError('invalid_request', message)
      }
      const plain = comment?.replaceAll('\0', '\uFFFD').toWellFormed() ?? null
      const feedback = await traces.rate(params.trace_id, { rating, comment: plain })
      return { rating: feedback.rating, comment: feedback.comment, created_at: feedback.createdAt }
    },
  })
})

function filterOf(sent: ReturnType<typeof TRACES_QUERY.read> | ReturnType<typeof SELECTION.read>) {
  const { outcome, purpose, from, to } = sent
  return definedFields({
    ...{ outcome, purpose, from, to },
    projectName: sent.project,
    agentName: sent.agent,
    conversationId: sent.conversation_id,
    questionPart: sent.q,
  }) satisfies TraceFilter
}

const summaryRecord = recordOf<TraceSummary>()(TRACE_SUMMARY, {
  project: (trace) => trace.projectName,
  agent: (trace) => trace.agentName,
  model: (trace) => trace.modelName,
})

const traceRecord = recordOf<StoredTrace>()(TRACE, {
  project: (trace) => trace.projectName,
  agent: (trace) => trace.agentName,
  model: (trace) => trace.modelName,
  error: (trace) => trace.errorMessage,
  turns: (trace) => trace.turns.map(turnRecord),
})

const turnRecord = recordOf<StoredTrace['turns'][number]>()(MODEL_TURN, {
  tool_calls: (turn) => turn.callCount,
})
