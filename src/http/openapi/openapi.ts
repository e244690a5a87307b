/** The OpenAPI 3.1 document, made of the same schemas that check the bodies. */
import type { DocumentDecoration, Elysia, TSchema } from 'elysia'
import { SCOPES, type Scope } from '../../domain/access/principal.ts'
import { ERRORS } from '../../errors.ts'
import type { BodySchema } from '../bodies/body.ts'

export const OPENAPI_PATH = '/openapi.json'
const OPENAPI_VERSION = '3.1.2'

const TAGS = {
  Projects: 'Namespaces of knowledge bases, agents, views and tables',
  'Knowledge bases': 'Documents that can be searched by meaning and by keywords',
  Documents: 'What is stored in a knowledge base, document by document',
  Agents: 'Models with instructions and with the data that they may read',
  Traces: 'What questions to agents left behind: steps, times, tokens, cost, feedback',
  Jobs: 'Work that goes on without a request: its progress, and how to stop it and go on with it',
  Files: 'Uploaded files; SQL reads them as files.<name>',
  Sources: 'What knowledge bases are kept in step with: folders, sites, files, queries',
  SQL: "One statement per request, in DuckDB's dialect",
  MCP: 'The Model Context Protocol, for programs with models of their own',
  Databases: 'The namespaces of SQL: projects, files, information_schema',
  OpenAI: "OpenAI's API: agents and knowledge bases as models. Errors have that API's own form",
  Views: 'Named SELECT statements',
  Backups: 'Copies of everything that is stored, made while the server runs',
  Access: 'Keys and users: who may come in, and what they may do',
  Server: 'Login, health checks and version',
} as const

/** The scope that a route needs where the login is on; `login`: anybody who is logged in, `nothing`: everyone may. */
export type RouteNeed = Scope | 'login' | 'nothing'

/** An answer whose body has a schema: the document's, and what the tests hold every such answer against. */
export interface DescribedAnswer {
  readonly description: string
  readonly schema: TSchema
}

interface RouteOptions {
  readonly summary: string
  /** What the summary cannot say, as Markdown. */
  readonly description?: string
  readonly tag: keyof typeof TAGS
  readonly body?: BodySchema<unknown>
  /** Content types of a body that is no JSON: a form with files, or a file as it is; or of one that only its own reader knows. */
  readonly takes?: readonly string[]
  /** Status → what it means. `problem+json` answers are added. */
  readonly answers: Readonly<Record<number, string | DescribedAnswer>>
  /** Content type of the success, where it is not JSON. */
  readonly produces?: string
  readonly needs: RouteNeed
}

/** The options of a route: how it is documented, and that Elysia leaves its body alone, which `body.ts` reads. */
export function route(init: RouteOptions): { parse: 'none'; detail: DocumentDecoration } {
  const needed = init.needs === 'login' ? [] : [init.needs]
  const responses = Object.entries(init.answers).map(([status, description]) => {
    return [status, answerOf(Number(status), description, init.produces)] as const
  })
  return {
    parse: 'none',
    detail: {
      summary: init.summary,
      ...(init.description === undefined ? {} : { description: init.description }),
      tags: [init.tag],
      // OpenAPI 3.1 lets a bearer scheme name roles: ours are scopes.
      security: init.needs === 'nothing' ? [] : [{ bearer: needed }],
      ...(init.body === undefined ? {} : { requestBody: jsonBody(init.body) }),
      ...(init.takes === undefined ? {} : { requestBody: filesBody(init.takes) }),
      responses: { ...Object.fromEntries(responses), default: PROBLEM_ANSWER },
    },
  }
}

/** What a route needs, as `route` declared it; a route that declared nothing needs `admin`. */
export function needOf(hooks: { readonly detail?: DocumentDecoration }): RouteNeed {
  const security = hooks.detail?.security
  if (security === undefined) return 'admin'
  const [first] = security
  if (first === undefined) return 'nothing'
  const named = first.bearer?.[0]
  if (named === undefined) return 'login'
  return SCOPES.find((scope) => scope === named) ?? 'admin'
}

function jsonBody(body: BodySchema<unknown>) {
  return { required: true, content: { 'application/json': { schema: { ...body.schema } } } }
}

function filesBody(types: readonly string[]) {
  const file = { type: 'string' as const, format: 'binary' }
  const form = { type: 'object' as const, additionalProperties: file }
  const schemas: Readonly<Record<string, object>> = {
    'multipart/form-data': form,
    'application/json': { type: 'object' as const },
  }
  const content = types.map((type) => [type, { schema: schemas[type] ?? file }] as const)
  return { required: true, content: Object.fromEntries(content) }
}

const PROBLEM_ANSWER = {
  description: 'What went wrong',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

function answerOf(status: number, answer: string | DescribedAnswer, produces = 'application/json') {
  const { description, schema } =
    typeof answer === 'string' ? { description: answer, schema: undefined } : answer
  if (status >= 400) return { ...PROBLEM_ANSWER, description }
  if (status === 204) return { description }
  const content = schema === undefined ? {} : { schema: { ...schema } }
  return { description, content: { [produces]: content } }
}

const PROBLEM = {
  type: 'object' as const,
  required: ['type', 'title', 'status', 'detail', 'code', 'timestamp'],
  properties: {
    type: { type: 'string' as const, format: 'uri-reference' },
    title: { type: 'string' as const },
    status: { type: 'integer' as const },
    detail: { type: 'string' as const },
    code: { type: 'string' as const, enum: Object.keys(ERRORS) },
    timestamp: { type: 'string' as const, description: 'YYYY-MM-DD HH:MM:SS.ffffff, UTC' },
  },
}

/** The document of an app's routes. What makes it is loaded when somebody asks for it first. */
export async function openApiDocument(app: Elysia, version: string) {
  const { toOpenAPISchema } = await import('@elysiajs/openapi')
  const { paths, components } = toOpenAPISchema(app)
  return {
    openapi: OPENAPI_VERSION,
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    info: { title: 'Eider', version, description: 'Knowledge bases, agents and SQL over HTTP' },
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: { ...components.schemas, Problem: PROBLEM },
    },
  }
}
