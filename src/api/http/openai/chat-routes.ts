/** OpenAI's `/v1/chat/completions`: questions to agents and to knowledge bases. */
import { t } from 'elysia'
import { askerOf, type Principal, requireScope } from '../../../core/domain/access/principal.ts'
import { definedFields } from '../../../core/json.ts'
import { chunkStream } from '../answers/streamed-response.ts'
import { failureLog, type RouteContext } from '../request/route-context.ts'
import { integer, open, orNull } from '../request/schema-words.ts'
import { resource } from '../routes/operation.ts'
import { filenameFor } from './attached-files.ts'
import {
  answerPieces,
  type ChatTerms,
  type CitationTerms,
  completionChunks,
  wholeCompletion,
} from './chat-answer.ts'
import { CHAT, chatAsked, OPEN } from './chat-request.ts'
import { secondsOf } from './list-page.ts'
import { modelsFor, type NamedModel, requireModel } from './named-models.ts'

const CALL = t.Object({
  id: t.String(),
  type: t.Literal('function'),
  function: t.Object({ name: t.String(), arguments: t.String() }),
})

const USAGE = t.Object({
  prompt_tokens: integer(),
  completion_tokens: integer(),
  total_tokens: integer(),
  prompt_tokens_details: t.Object({ cached_tokens: integer() }),
})

const CHAT_ANSWER = t.Object({
  id: t.String({ description: 'chatcmpl-<trace id>' }),
  object: t.Literal('chat.completion'),
  created: integer(),
  model: t.String(),
  choices: t.Array(
    t.Object({
      index: integer(),
      message: t.Object({
        role: t.Literal('assistant'),
        content: orNull(t.String()),
        refusal: t.Null(),
        annotations: t.Array(t.Object({ type: t.Literal('url_citation'), url_citation: open({}) })),
        reasoning_content: t.Optional(t.String({ description: 'Tool steps, if requested' })),
        tool_calls: t.Optional(t.Array(CALL)),
      }),
      logprobs: t.Null(),
      finish_reason: t.String({ description: 'stop, length or content_filter' }),
    }),
  ),
  usage: orNull(USAGE, { description: 'null if not counted' }),
  system_fingerprint: t.Null(),
  eider: open({ trace_id: t.String(), warnings: t.Array(t.String()) }),
})

const CHUNK = t.Object({}, { ...OPEN, description: 'A chat.completion.chunk, or an error' })

export const chatOperations = resource('OpenAI', (api, context) => {
  const { agents } = context.deps
  api.post('/v1/chat/completions', {
    id: 'createChatCompletion',
    summary: 'Ask an agent or a knowledge base',
    description:
      "OpenAI's chat completions, complete or (with `stream`) as server-sent events. Needs the scope `ask`, and `read` if the model is a knowledge base.",
    needs: 'login',
    find: mayAsk,
    body: CHAT,
    answers: {
      200: {
        description: 'The answer',
        schema: CHAT_ANSWER,
        also: { 'text/event-stream': CHUNK },
        headers: { 'x-eider-ignored': 'Ignored fields of the body' },
      },
      404: 'Unknown model',
    },
    async run({ request, scope, body }) {
      const { principal } = scope
      const { agent } = requireModel(context.snapshot(), principal, body.model)
      const { streams, ignored, withSteps, ...asked } = chatAsked(body, request.headers)
      const { question, history, wishes, answerForm, asCall, withUsage } = asked
      const deltas = streams && answerForm === undefined
      const events = agents.ask(
        {
          ...{ agent, question, history, deltas },
          asker: askerOf(principal),
          traceParent: request.headers.get('traceparent') ?? undefined,
          ...definedFields({ wishes, answerForm }),
        },
        scope.signal,
      )
      const pieces = answerPieces(events, { deltas, withSteps })
      const terms: ChatTerms = {
        ...{ model: body.model, withSteps, withUsage },
        created: Math.floor(context.deps.now() / 1000),
        ...citationTerms(context, request, principal),
        ...(asCall === undefined ? {} : { asCall }),
      }
      const response = streams
        ? await chunkStream(completionChunks(pieces, terms, failureLog(context, scope)), scope)
        : Response.json(await wholeCompletion(pieces, terms))
      return withIgnored(response, ignored)
    },
  })
})

export function citationTerms(
  { snapshot }: RouteContext,
  request: Request,
  principal: Principal,
): CitationTerms {
  const { origin } = new URL(request.url)
  return { origin, filenameOf: (id) => filenameFor(principal, snapshot(), id) }
}

/** Requires the scope for questions. @throws AppError `forbidden` */
export function mayAsk({ principal }: { readonly principal: Principal }): void {
  requireScope(principal, 'ask')
}

/** Adds a header that lists the fields of the body that had no effect. */
export function withIgnored(response: Response, ignored: readonly string[]): Response {
  if (ignored.length > 0) response.headers.set('x-eider-ignored', ignored.join(', '))
  return response
}

const MODEL = t.Object({
  id: t.String({ description: 'project.name' }),
  object: t.Literal('model'),
  created: integer({ description: 'Seconds since 1970' }),
  owned_by: t.String({ description: 'The project' }),
  name: t.String(),
  kind: t.Union([t.Literal('agent'), t.Literal('knowledge_base')]),
})
const MODELS = t.Object({ object: t.Literal('list'), data: t.Array(MODEL) })

export const modelOperations = resource('OpenAI', (api, context) => {
  api.get('/v1/models', {
    id: 'listModels',
    summary: 'List agents and knowledge bases as models',
    needs: 'login',
    answers: { 200: ['The models that the key can use', MODELS] },
    run({ principal }) {
      const data = modelsFor(context.snapshot(), principal).map(modelRecord)
      return { object: 'list', data }
    },
  })
  api.get('/v1/models/:model', {
    id: 'getModel',
    summary: 'Get an agent or knowledge base as a model',
    needs: 'login',
    answers: { 200: ['The model', MODEL] },
    run: ({ params, principal }) =>
      modelRecord(requireModel(context.snapshot(), principal, params.model)),
  })
})

function modelRecord({ id, kind, agent }: NamedModel) {
  return {
    id,
    object: 'model',
    created: secondsOf(agent.createdAt),
    owned_by: agent.projectName,
    // Open WebUI shows the name instead of the id.
    name: id,
    kind,
  }
}
