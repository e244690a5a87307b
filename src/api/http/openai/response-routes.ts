/** OpenAI's `/v1/responses`: questions to agents, with file search and stored conversations. */
import { t } from 'elysia'
import { NEW_CONVERSATION } from '../../../agents/questions/conversations.ts'
import {
  askerOf,
  mayName,
  maySeeAsked,
  type Principal,
} from '../../../core/domain/access/principal.ts'
import type { Agent } from '../../../core/domain/agents/agent.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import { fullName } from '../../../core/domain/names.ts'
import type { StoredTrace } from '../../../core/domain/ports/conversation-ports.ts'
import { AppError, hasCode } from '../../../core/errors.ts'
import { definedFields } from '../../../core/json.ts'
import { chunkStream } from '../answers/streamed-response.ts'
import { failureLog, type RouteContext } from '../request/route-context.ts'
import { integer, open } from '../request/schema-words.ts'
import { resource } from '../routes/operation.ts'
import { answerPieces } from './chat-answer.ts'
import { wrong } from './chat-request.ts'
import { citationTerms, mayAsk, withIgnored } from './chat-routes.ts'
import { agentOver, findModel, findReadable, requireModel } from './named-models.ts'
import { type ResponseTerms, responseOfTrace, traceIdIn } from './response-answer.ts'
import {
  RESPONSE,
  type ResponseAsked,
  type ResponseBody,
  responseAsked,
} from './response-request.ts'
import { responseEvents, wholeResponse } from './response-stream.ts'

const RESPONSES_PATH = '/v1/responses'
const RESPONSE_PATH = `${RESPONSES_PATH}/:response_id` as const

const RESPONSE_ANSWER = open({
  id: t.String({ description: 'resp_<trace id>' }),
  object: t.Literal('response'),
  created_at: integer(),
  status: t.String({ description: 'completed, incomplete, failed or cancelled' }),
  model: t.String(),
  output: t.Array(open({ id: t.String(), type: t.String() })),
})

const EVENT = open({ type: t.String(), sequence_number: integer() })

const DELETED_RESPONSE = t.Object({
  id: t.String(),
  object: t.Literal('response'),
  deleted: t.Boolean(),
})

export const responseOperations = resource('OpenAI', (api, context) => {
  const { agents, traces } = context.deps
  api.post(RESPONSES_PATH, {
    id: 'createResponse',
    summary: 'Ask an agent, or knowledge bases with file_search',
    description:
      "OpenAI's responses, complete or (with `stream`) as server-sent events. Needs the scope `ask`, and `read` for knowledge bases.",
    needs: 'login',
    find: mayAsk,
    body: RESPONSE,
    answers: {
      200: {
        description: 'The response',
        schema: RESPONSE_ANSWER,
        also: { 'text/event-stream': EVENT },
        headers: { 'x-eider-ignored': 'Ignored fields of the body' },
      },
      404: 'Unknown model, knowledge base or previous response',
    },
    async run({ request, scope, body }) {
      const told = (itemId: string) => toldIn(context, scope.principal, itemId)
      const asked = await responseAsked(body, request.headers, told)
      const agent = agentFor(context, scope.principal, body.model, asked)
      const conversationId = await conversationOf(context, scope.principal, { agent, body, asked })
      const { question, history, wishes, answerForm, streams, withSteps } = asked
      const deltas = streams && answerForm === undefined
      const events = agents.ask(
        {
          ...{ agent, question, history, deltas },
          asker: askerOf(scope.principal),
          traceParent: request.headers.get('traceparent') ?? undefined,
          ...definedFields({ wishes, answerForm, conversationId }),
        },
        scope.signal,
      )
      const terms: ResponseTerms = {
        ...{ body, withSteps, withResults: asked.withResults },
        ...(asked.vectorStores === undefined ? {} : { vectorStores: asked.vectorStores }),
        created: Math.floor(context.deps.now() / 1000),
        ...citationTerms(context, request, scope.principal),
        isKept: conversationId !== undefined,
      }
      const pieces = answerPieces(events, { deltas, withSteps })
      const response = streams
        ? await chunkStream(responseEvents(pieces, terms, failureLog(context, scope)), scope)
        : Response.json(await wholeResponse(pieces, terms))
      return withIgnored(response, asked.ignored)
    },
  })
  api.get(RESPONSE_PATH, {
    id: 'getResponse',
    summary: 'Get a finished response',
    needs: 'ask',
    answers: { 200: ['The response', RESPONSE_ANSWER] },
    async run({ request, params, principal }) {
      const trace = await requireTrace(context, principal, params.response_id)
      return responseOfTrace(trace, citationTerms(context, request, principal))
    },
  })
  api.delete(RESPONSE_PATH, {
    id: 'deleteResponse',
    summary: 'Delete a response and its trace',
    description: 'Its conversation is kept.',
    needs: 'admin',
    answers: { 200: ['The deleted response', DELETED_RESPONSE] },
    async run({ params, principal }) {
      const { traceId } = await requireTrace(context, principal, params.response_id)
      await traces.remove(traceId)
      return { id: params.response_id, object: 'response', deleted: true }
    },
  })
})

/** The model's agent; with `file_search`, the same agent on the knowledge bases listed there. */
function agentFor(
  context: RouteContext,
  principal: Principal,
  model: string,
  { vectorStores }: ResponseAsked,
): Agent {
  const snapshot = context.snapshot()
  if (vectorStores === undefined) return requireModel(snapshot, principal, model).agent
  const kbs = vectorStores.map((id): KnowledgeBase => {
    const kb = findReadable(snapshot, principal, id)
    if (kb !== undefined) return kb
    const message = `The vector store "${id.slice(0, 200)}" does not exist, or you may not read it`
    throw new AppError('knowledge_base_not_found', `${message}: name a knowledge base`, {
      param: 'tools[0].vector_store_ids',
    })
  })
  const [first, ...others] = kbs
  const found = findModel(snapshot, principal, model)
  if (first === undefined) return requireModel(snapshot, principal, model).agent
  if (found?.kind !== 'agent') return agentOver([first, ...others])
  // The agent's instructions and model, with knowledge bases that the caller may read.
  return { ...found.agent, data: { knowledgeBases: kbs.map(fullName), tables: [], isExact: true } }
}

interface Asking {
  readonly agent: Agent
  readonly body: ResponseBody
  readonly asked: ResponseAsked
}

/** Undefined if it is not stored. @throws AppError `invalid_request`, `trace_not_found` */
async function conversationOf(
  context: RouteContext,
  principal: Principal,
  { agent, body, asked }: Asking,
): Promise<string | undefined> {
  const { previous_response_id: previous, conversation, store } = body
  const named = typeof conversation === 'string' ? conversation : conversation?.id
  const goesOn = typeof previous === 'string' || named !== undefined
  const field = typeof previous === 'string' ? 'previous_response_id' : 'conversation'
  if (typeof previous === 'string' && named !== undefined) {
    throw wrong(field, 'Send "previous_response_id" or "conversation", not both')
  }
  const hasHistory = asked.history.length > 0
  if (goesOn && hasHistory) {
    throw wrong('input', `"${field}" has the earlier turns: "input" takes only the new question`)
  }
  // Only stored agents have conversations.
  const isStored = agent.id > 0
  if (goesOn && !isStored) {
    throw wrong(
      field,
      'Only conversations with an agent are stored: create an agent, or send the history',
    )
  }
  if (named !== undefined) return named.replace(/^conv_/, '')
  if (typeof previous === 'string') return previousOf(context, principal, agent, previous)
  if (isStored && !hasHistory) return store === false ? undefined : NEW_CONVERSATION
  if (store !== true) return undefined
  const why = isStored ? 'its history came from you' : 'no agent is named'
  throw wrong('store', `This conversation cannot be kept, as ${why}: leave "store" out`)
}

async function previousOf(
  context: RouteContext,
  principal: Principal,
  agent: Agent,
  id: string,
): Promise<string> {
  const { conversations } = context.deps
  const field = 'previous_response_id'
  const { traceId, conversationId } = await requireTrace(context, principal, id, field)
  if (conversationId === null) {
    throw wrong(field, `${id} was not kept: ask the first question with "store" true or unset`)
  }
  const page = { limit: 1, before: null }
  const { turns } = await conversations.get(agent, conversationId, page, askerOf(principal))
  if (turns.at(-1)?.traceId === traceId) return conversationId
  const message = `${id} is not the last answer of its conversation`
  throw wrong(field, `${message}: go on from the last one; branches are not kept`)
}

/** @throws AppError `trace_not_found`, also for traces the principal may not see */
async function requireTrace(
  { deps }: RouteContext,
  principal: Principal,
  id: string,
  param?: string,
): Promise<StoredTrace> {
  const missing = () => {
    const message = `The response "${id.slice(0, 100)}" does not exist`
    return new AppError('trace_not_found', message, param === undefined ? {} : { param })
  }
  const traceId = traceIdIn(id)
  if (traceId === null) throw missing()
  const trace = await deps.traces.get(traceId).catch((error: unknown) => {
    throw hasCode(error, 'trace_not_found') ? missing() : error
  })
  if (!mayName(principal, trace.projectName)) throw missing()
  if (!maySeeAsked(askerOf(principal), trace.askedBy)) throw missing()
  return trace
}

/** The answer with a message's id; null if this server did not create that id. */
async function toldIn(
  context: RouteContext,
  principal: Principal,
  itemId: string,
): Promise<string | null> {
  if (!itemId.startsWith('msg_')) return null
  return (await requireTrace(context, principal, itemId, 'input')).answer
}
