import { createHash } from 'node:crypto'
import { t } from 'elysia'
import { completionStream, responseFormatOf } from '../../../agents/questions/completion-stream.ts'
import type { AskedQuestion } from '../../../agents/questions/conversations.ts'
import type { RunningQuestion } from '../../../agents/questions/running-questions.ts'
import { findIn, ofProject } from '../../../core/domain/access/catalog-snapshot.ts'
import {
  askerOf,
  mayName,
  maySeeAsked,
  type Principal,
  requireScope,
} from '../../../core/domain/access/principal.ts'
import type { Agent, ConversationTurn } from '../../../core/domain/agents/agent.ts'
import { runNotFound } from '../../../core/domain/agents/completion-event.ts'
import { AppError } from '../../../core/errors.ts'
import { isObject } from '../../../core/json.ts'
import { alterAgent, createAgent, modelToTry } from '../../../query/definitions/define-agent.ts'
import type { Fields } from '../../../query/definitions/fields.ts'
import { recordOf } from '../answers/record-of.ts'
import {
  AGENT,
  AGENT_PROBE,
  ANSWER,
  COMPLETION_EVENT,
  RUNNING_QUESTION,
  SAVED_AGENT,
} from '../answers/records/agent-schemas.ts'
import { eventStream } from '../answers/streamed-response.ts'
import { agentRecord, answerRecord } from '../answers/wire.ts'
import { bodySchema } from '../bodies/body.ts'
import { AGENT_DATA, AGENT_OPTIONS, MODEL, RESPONSE_FORMAT } from '../bodies/definition-shapes.ts'
import { failureLog } from '../request/route-context.ts'
import { anObject, maybe, open, optionally, strict } from '../request/schema-words.ts'
import { type At, agentAt, projectAt, resource } from './operation.ts'

const AGENTS_PATH = '/api/projects/:project_name/agents'
const AGENT_PATH = `${AGENTS_PATH}/:agent_name` as const
const COMPLETIONS_PATH = `${AGENT_PATH}/completions` as const
const RUNS_PATH = '/api/agents/runs'

const optionalText = maybe(t.String())

/** The catalog checks all other fields, because clients expect its wording when it refuses one. */
const DEFINITION = {
  model: maybe(anObject(MODEL)),
  data: maybe(anObject(AGENT_DATA)),
  prompt_template: optionalText,
  params: maybe(anObject(open(AGENT_OPTIONS))),
  /** The older field for naming a model. */
  model_name: optionalText,
  provider: optionalText,
  /** These fields are also accepted outside `params`. */
  ...Object.fromEntries(
    Object.entries(AGENT_OPTIONS).map(([name, one]) => [name, optionally(one)]),
  ),
}
const NEW_AGENT = bodySchema(strict({ agent: t.Object({ name: t.String(), ...DEFINITION }) }))
const CHANGED_AGENT = bodySchema(strict({ agent: t.Object({ name: optionalText, ...DEFINITION }) }))

const VERSION_HEADER = { ETag: 'The agent’s version, for If-Match' }
const SAVED = { description: 'The agent', schema: SAVED_AGENT, headers: VERSION_HEADER }

export const agentOperations = resource('Agents', (api, { deps }) => {
  api.get(AGENTS_PATH, {
    id: 'listAgents',
    summary: 'List the agents of a project',
    find: projectAt,
    answers: { 200: ['The agents', t.Array(AGENT)] },
    run: ({ snapshot, found }) =>
      ofProject(snapshot.agents, found).map((agent) => agentRecord(agent)),
  })
  /** A key is shown only in the answer to the request that sent it. */
  const saved = (agent: Agent, sent: Fields, status: number) => {
    const body = { ...agentRecord(agent, sentApiKey(sent)), warnings: deps.agentWarnings(agent) }
    return Response.json(body, { status, headers: { etag: agentVersion(agent) } })
  }
  api.post(AGENTS_PATH, {
    id: 'createAgent',
    summary: 'Create an agent',
    find: projectAt,
    body: NEW_AGENT,
    answers: { 201: SAVED, 409: 'The name is already in use' },
    async run({ found: project, body: { agent: sent }, principal }) {
      return saved(await createAgent(project.name, sent, deps.catalogFor(principal)), sent, 201)
    },
  })
  api.get(AGENT_PATH, {
    id: 'getAgent',
    summary: 'Get an agent',
    find: agentAt,
    answers: { 200: { description: 'The agent', schema: AGENT, headers: VERSION_HEADER } },
    run({ found: agent }) {
      return Response.json(agentRecord(agent), { headers: { etag: agentVersion(agent) } })
    },
  })
  api.put(AGENT_PATH, {
    id: 'updateAgent',
    summary: 'Update only the agent fields you send',
    headers: {
      'If-Match': 'The ETag you got when you read the agent. If it has changed since, you get 412',
    },
    find({ request, ...place }) {
      const agent = agentToAlter(place)
      requireVersion(agent, request.headers.get('if-match'))
      return agent
    },
    body: CHANGED_AGENT,
    answers: {
      200: SAVED,
      400: 'There is no such agent; PUT does not create one',
      412: 'The agent has changed since you read it; nothing was saved',
    },
    async run({ request, found, body: { agent: sent }, principal }) {
      const agent = await alterAgent(found, sent, deps.catalogFor(principal), (stored) => {
        requireVersion(stored, request.headers.get('if-match'))
      })
      return saved(agent, sent, 200)
    },
  })
  api.post(`${AGENT_PATH}/probe`, {
    id: 'probeAgent',
    summary: "Test an agent's model with one tiny call",
    find: agentAt,
    answers: { 200: ['The result of the call, even if it failed', AGENT_PROBE] },
    run: ({ request, found: agent }) => deps.probeAgent(agent, request.signal),
  })
  api.post('/api/agents/probe', {
    id: 'probeNewAgent',
    summary: 'Test a model with one tiny call, before creating the agent',
    body: CHANGED_AGENT,
    answers: { 200: ['The result of the call, even if it failed', AGENT_PROBE] },
    async run({ request, body: { agent: sent }, principal }) {
      const model = await modelToTry(sent, deps.catalogFor(principal))
      return deps.probeAgent({ model }, request.signal)
    },
  })
  api.delete(AGENT_PATH, {
    id: 'deleteAgent',
    summary: 'Delete an agent',
    find: agentAt,
    run: ({ found: agent }) => deps.catalog.catalog.dropAgent(agent),
  })
})

export const completionOperations = resource('Agents', (api, context) => {
  const { agents } = context.deps
  api.post(COMPLETIONS_PATH, {
    id: 'askAgent',
    summary: 'Ask an agent',
    needs: 'ask',
    find: agentAt,
    body: COMPLETION,
    answers: {
      200: ['The answer', ANSWER],
      409: 'A question is running in this conversation, or it is full',
      504: 'The agent’s time limit was reached',
    },
    async run(call) {
      return answerRecord(await agents.complete(questionOf(call), call.signal))
    },
  })
  api.post(`${COMPLETIONS_PATH}/stream`, {
    id: 'streamAgent',
    summary: 'Ask an agent and stream its steps',
    needs: 'ask',
    produces: 'text/event-stream',
    find: agentAt,
    body: COMPLETION,
    answers: {
      200: ['Server-sent events: `data: {json}`', COMPLETION_EVENT],
      409: 'A question is running in this conversation, or it is full',
    },
    run(call) {
      const { scope } = call
      const question = questionOf(call)
      const events = completionStream(agents.ask(question, scope.signal), {
        deltas: question.deltas,
        onFailure: failureLog(context, scope),
      })
      return eventStream(events, scope)
    },
  })
})

export const runOperations = resource('Agents', (api, { deps: { agents } }) => {
  const runsOf = (principal: Principal) => {
    const asker = askerOf(principal)
    return agents.runs().filter(({ projectName, askedBy }) => {
      return mayName(principal, projectName) && maySeeAsked(asker, askedBy)
    })
  }
  api.get(RUNS_PATH, {
    id: 'listRunningQuestions',
    summary: 'List running and waiting questions',
    description:
      'Each has its trace_id, agent, project, model, state (waiting or running), the start of the question, ' +
      'the steps so far, and the seconds since it was asked.',
    needs: 'ask',
    answers: { 200: ['The questions, oldest first', t.Array(RUNNING_QUESTION)] },
    run({ principal }) {
      requireScope(principal, 'read')
      return runsOf(principal).map(runRecord)
    },
  })
  api.delete(`${RUNS_PATH}/:trace_id`, {
    id: 'cancelQuestion',
    summary: 'Cancel a question',
    description:
      'Stops the model call and the running SQL. The client that asked gets the error "cancelled".',
    needs: 'ask',
    run({ principal, params: { trace_id: id } }) {
      if (!runsOf(principal).some(({ traceId }) => traceId === id)) throw runNotFound(id)
      agents.cancelRun(id)
    },
  })
})

const runRecord = recordOf<RunningQuestion>()(RUNNING_QUESTION, {
  agent: (run) => run.agentName,
  project: (run) => run.projectName,
  seconds: (run) => Math.round(run.seconds * 1000) / 1000,
})

interface Asking {
  readonly request: Request
  readonly found: Agent
  readonly principal: Principal
  readonly body: ReturnType<typeof COMPLETION.check>
}

function questionOf({ request, found: agent, principal, body }: Asking): AskedQuestion {
  const answerForm = responseFormatOf(body.response_format)
  return {
    ...conversationOf(body.messages),
    agent,
    asker: askerOf(principal),
    deltas: body.stream_options?.deltas ?? false,
    isBackground: body.background ?? false,
    traceParent: request.headers.get('traceparent') ?? undefined,
    ...(answerForm === undefined ? {} : { answerForm }),
    ...(typeof body.conversation_id === 'string' ? { conversationId: body.conversation_id } : {}),
  }
}

function agentToAlter(place: At<'project_name' | 'agent_name'>): Agent {
  const agent = findIn(place.snapshot.agents, projectAt(place), place.params.agent_name)
  if (agent !== undefined) return agent
  const message = 'Creation of an agent using the PUT method is not allowed.'
  throw new AppError('agent_creation_not_allowed', message)
}

function sentApiKey({ model }: Fields): string | undefined {
  const key = isObject(model) ? model.api_key : undefined
  return typeof key === 'string' ? key : undefined
}

/** The ETag of an agent. Every change alters it, except changes to secrets. */
function agentVersion(agent: Agent): string {
  const record = JSON.stringify(agentRecord(agent))
  return `"${createHash('sha256').update(record).digest('base64url').slice(0, 22)}"`
}

/** @param ifMatch must list the agent's version, or `*` @throws AppError `agent_changed` */
function requireVersion(agent: Agent, ifMatch: string | null): void {
  if (ifMatch === null) return
  const version = agentVersion(agent)
  // Proxies that compress mark the version as weak, although the agent is the same.
  const named = ifMatch.split(',').map((one) => one.trim().replace(/^W\//, ''))
  if (named.includes('*') || named.includes(version)) return
  const message = `The agent ${agent.name} has changed since you read it: GET it, and send your changes with its new ETag as If-Match`
  throw new AppError('agent_changed', message)
}

const MESSAGE = t.Object({
  question: maybe(t.String()),
  answer: maybe(t.String()),
  role: t.Optional(t.String()),
  content: maybe(t.String()),
})

type SentMessage = (typeof MESSAGE)['static']

const COMPLETION = bodySchema(
  t.Object(
    {
      messages: t.Array(MESSAGE, {
        description:
          'Turns as {"question", "answer"} or {"role", "content"}; the last one is the question',
      }),
      response_format: optionally(RESPONSE_FORMAT),
      conversation_id: maybe(t.String(), {
        description:
          '"new" starts a stored conversation and returns its id; an id continues that conversation',
      }),
      background: maybe(t.Boolean(), {
        description:
          'Whether the question continues if the client disconnects; needs a conversation_id',
      }),
      stream_options: maybe(t.Object({ deltas: t.Optional(t.Boolean()) })),
    },
    {
      $id: 'CompletionRequest',
      examples: [{ messages: [{ question: 'Which tea has no caffeine?', answer: '' }] }],
    },
  ),
)

/** A message may use either form. @throws AppError `invalid_request` without a question */
function conversationOf(messages: readonly SentMessage[]) {
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
    // Instructions belong to the agent, so a conversation cannot replace them.
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
