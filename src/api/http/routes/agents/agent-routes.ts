import { createHash } from 'node:crypto'
import { type TSchema, t } from 'elysia'
import {
  agentsOf,
  findAgent,
  requireAgent,
  requireProject,
} from '../../../../core/domain/access/catalog-snapshot.ts'
import type { Agent } from '../../../../core/domain/agents/agent.ts'
import { AppError } from '../../../../core/errors.ts'
import { isObject } from '../../../../core/json.ts'
import {
  alterAgent,
  createAgent,
  dropAgent,
  modelToTry,
} from '../../../../query/definitions/define-agent.ts'
import type { Fields } from '../../../../query/definitions/fields.ts'
import { AGENT, AGENT_PROBE, SAVED_AGENT } from '../../answers/records/agent-schemas.ts'
import { agentRecord } from '../../answers/wire.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { AGENT_DATA, AGENT_OPTIONS, MODEL } from '../../bodies/definition-shapes.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../../request/route-context.ts'
import { anObject, optionally } from '../../request/schema-words.ts'

const LIST = '/api/projects/:project_name/agents'
const ONE = `${LIST}/:agent_name` as const

const tag = 'Agents'
const missing = { 404: 'No such project or agent' }

const optionalText = t.Optional(t.Union([t.String(), t.Null()]))
const optionalObject = (shape: TSchema) => t.Optional(t.Union([anObject(shape), t.Null()]))

/** Further fields are left to the catalog, which knows the wording for those it refuses. */
const DEFINITION = {
  model: optionalObject(MODEL),
  data: optionalObject(AGENT_DATA),
  prompt_template: optionalText,
  params: optionalObject(t.Object(AGENT_OPTIONS, { additionalProperties: true })),
  /** The older way to name a model. */
  model_name: optionalText,
  provider: optionalText,
  /** The same as within `params`. */
  ...Object.fromEntries(
    Object.entries(AGENT_OPTIONS).map(([name, one]) => [name, optionally(one)]),
  ),
}
const CREATE = bodySchema(
  t.Object(
    { agent: t.Object({ name: t.String(), ...DEFINITION }) },
    { additionalProperties: false },
  ),
)
const UPDATE = bodySchema(
  t.Object(
    { agent: t.Object({ name: optionalText, ...DEFINITION }) },
    { additionalProperties: false },
  ),
)

const VERSION_HEADER = { ETag: 'Another one after each change; for If-Match' }

export const addAgentRoutes: AddRoutes = (app, context) => {
  const { deps } = context
  app.get(
    LIST,
    ({ params }) => {
      const snapshot = context.snapshot()
      const agents = agentsOf(snapshot, requireProject(snapshot, params.project_name))
      return Response.json(agents.map((agent) => agentRecord(agent)))
    },
    route({
      needs: 'read',
      id: 'listAgents',
      summary: 'List the agents of a project',
      tag,
      answers: {
        200: { description: 'The agents', schema: t.Array(AGENT) },
        404: 'No such project',
      },
    }),
  )
  app.post(
    LIST,
    async ({ request, params }) => {
      requireProject(context.snapshot(), params.project_name)
      const { agent: sent } = await readJson(context, request, CREATE)
      const catalog = deps.catalogFor(context.scopeOf(request).principal)
      const agent = await createAgent(params.project_name, sent, catalog)
      const record = agentRecord(agent, sentApiKey(sent))
      const body = { ...record, warnings: deps.agentWarnings(agent) }
      return Response.json(body, { status: 201, headers: versionHeader(agent) })
    },
    route({
      needs: 'write',
      id: 'createAgent',
      summary: 'Create an agent',
      tag,
      body: CREATE,
      answers: {
        201: { description: 'The agent', schema: SAVED_AGENT, headers: VERSION_HEADER },
        404: 'No such project',
        409: 'The name is already in use',
      },
    }),
  )
  app.get(
    ONE,
    ({ params }) => {
      const agent = namedAgent(context, params)
      return Response.json(agentRecord(agent), { headers: versionHeader(agent) })
    },
    route({
      needs: 'read',
      id: 'getAgent',
      summary: 'Get an agent',
      tag,
      answers: {
        200: { description: 'The agent', schema: AGENT, headers: VERSION_HEADER },
        ...missing,
      },
    }),
  )
  app.put(
    ONE,
    async ({ request, params }) => {
      const ifMatch = request.headers.get('if-match')
      requireVersion(agentToAlter(context, params), ifMatch)
      const { agent: sent } = await readJson(context, request, UPDATE)
      const catalog = deps.catalogFor(context.scopeOf(request).principal)
      const agent = await alterAgent(agentToAlter(context, params), sent, catalog, (stored) => {
        requireVersion(stored, ifMatch)
      })
      const record = agentRecord(agent, sentApiKey(sent))
      const answer = { ...record, warnings: deps.agentWarnings(agent) }
      return Response.json(answer, { headers: versionHeader(agent) })
    },
    route({
      needs: 'write',
      id: 'updateAgent',
      summary: 'Update an agent: fields that are not sent stay',
      tag,
      body: UPDATE,
      headers: { 'If-Match': 'The ETag of the agent as you read it: another one is not changed' },
      answers: {
        200: { description: 'The agent', schema: SAVED_AGENT, headers: VERSION_HEADER },
        400: 'No such agent: PUT never creates',
        412: 'The agent was changed since; nothing was saved',
      },
    }),
  )
  app.post(
    `${ONE}/probe`,
    async ({ request, params }) => {
      return Response.json(await deps.probeAgent(namedAgent(context, params), request.signal))
    },
    route({
      needs: 'write',
      id: 'probeAgent',
      summary:
        "Try an agent's model: one tiny call, whose URL, status, cause and next step are told",
      tag,
      answers: {
        200: { description: 'What the call has shown, also where it failed', schema: AGENT_PROBE },
        ...missing,
      },
    }),
  )
  app.post(
    '/api/agents/probe',
    async ({ request }) => {
      const { agent: sent } = await readJson(context, request, UPDATE)
      const catalog = deps.catalogFor(context.scopeOf(request).principal)
      const model = await modelToTry(sent, catalog)
      return Response.json(await deps.probeAgent({ model }, request.signal))
    },
    route({
      needs: 'write',
      id: 'probeNewAgent',
      summary: 'Try the model of an agent before it is created: one tiny call',
      tag,
      body: UPDATE,
      answers: {
        200: { description: 'What the call has shown, also where it failed', schema: AGENT_PROBE },
      },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      await dropAgent(namedAgent(context, params), deps.catalog)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'write',
      id: 'deleteAgent',
      summary: 'Delete an agent',
      tag,
      answers: { 204: 'Deleted', ...missing },
    }),
  )
}

export interface AgentPath {
  readonly project_name: string
  readonly agent_name: string
}

/** @throws AppError `project_not_found`, `agent_not_found` */
export function namedAgent(context: RouteContext, path: AgentPath): Agent {
  return requireAgent(context.snapshot(), path.project_name, path.agent_name)
}

function agentToAlter(context: RouteContext, path: AgentPath): Agent {
  const snapshot = context.snapshot()
  const agent = findAgent(snapshot, requireProject(snapshot, path.project_name), path.agent_name)
  if (agent !== undefined) return agent
  const message = 'Creation of an agent using the PUT method is not allowed.'
  throw new AppError('agent_creation_not_allowed', message)
}

function versionHeader(agent: Agent): { readonly etag: string } {
  return { etag: agentVersion(agent) }
}

function sentApiKey({ model }: Fields): string | undefined {
  const key = isObject(model) ? model.api_key : undefined
  return typeof key === 'string' ? key : undefined
}

/** The ETag of an agent: another one after each change. It is made of what everybody sees, without secrets. */
function agentVersion(agent: Agent): string {
  const record = JSON.stringify(agentRecord(agent))
  return `"${createHash('sha256').update(record).digest('base64url').slice(0, 22)}"`
}

/**
 * @param ifMatch the header: the versions one of which the agent must have; `*`, or none at all: any
 * @throws AppError `agent_changed`
 */
function requireVersion(agent: Agent, ifMatch: string | null): void {
  if (ifMatch === null) return
  const version = agentVersion(agent)
  // Proxies that compress mark a version as weak; the agent is the same.
  const named = ifMatch.split(',').map((one) => one.trim().replace(/^W\//, ''))
  if (named.includes('*') || named.includes(version)) return
  const message = `The agent ${agent.name} was changed since you read it: GET it, and send your changes with its new ETag as If-Match`
  throw new AppError('agent_changed', message)
}
