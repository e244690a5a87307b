/** How a route is declared: what it needs, takes and answers. `openapi-document.ts` makes the document of it. */
import type { DocumentDecoration, TSchema } from 'elysia'
import { SCOPES, type Scope } from '../../domain/access/principal.ts'
import type { BodySchema } from '../bodies/body.ts'
import type { QueryParameters } from '../bodies/query-parameters.ts'

export const OPENAPI_PATH = '/openapi.json'

export const TAGS = {
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
  /** Of JSON, or of what `produces` names; of an event stream, of each event. */
  readonly schema?: TSchema
  /** Content types that it may have besides, and what each holds. */
  readonly also?: Readonly<Record<string, TSchema>>
  /** Headers that matter, and what each says. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface RouteOptions {
  /** The name of the operation for generated clients: `listProjects`. It never changes. */
  readonly id?: string
  readonly summary: string
  /** What the summary cannot say, as Markdown. */
  readonly description?: string
  readonly tag: keyof typeof TAGS
  readonly query?: QueryParameters<unknown>
  /** Headers of the request that it reads, and what each does. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: BodySchema<unknown>
  /** The body may be missing. */
  readonly isBodyOptional?: boolean
  /** Content types of a body that is no JSON: a form with files, or a file as it is; or of one that only its own reader knows. */
  readonly takes?: readonly string[]
  /** Fields of the form that `takes` names, and of the JSON; the files are its parts `file`. */
  readonly form?: TSchema
  /** Status → what it means. `problem+json` answers are added. */
  readonly answers: Readonly<Record<number, string | DescribedAnswer>>
  /** Content type of the success, where it is not JSON. */
  readonly produces?: string
  /** JSON that tells a failure, where another API has its own form. */
  readonly failsAs?: TSchema
  readonly needs: RouteNeed
  /** Not one of the API's: the document leaves it out. */
  readonly isHidden?: boolean
}

/** The options travel in a function: what the framework copies of a route stays small. */
interface RouteDetail extends DocumentDecoration {
  readonly 'x-route': () => RouteOptions
}

/** The options of a route: how it is documented, and that Elysia leaves its body alone, which `body.ts` reads. */
export function route(init: RouteOptions): { parse: 'none'; detail: RouteDetail } {
  return { parse: 'none', detail: { 'x-route': () => init } }
}

interface Hooks {
  readonly detail?: DocumentDecoration & Partial<RouteDetail>
}

/** What `route` declared; undefined for a route that is not one of the document. */
export function declarationOf({ detail }: Hooks): RouteOptions | undefined {
  return detail?.['x-route']?.()
}

/** What a route needs, as `route` declared it; a route that declared nothing needs `admin`. */
export function needOf(hooks: Hooks): RouteNeed {
  const declared = declarationOf(hooks)?.needs
  if (declared !== undefined) return declared
  const [security] = hooks.detail?.security ?? []
  const named = security?.bearer?.[0]
  if (security !== undefined && named === undefined) return 'login'
  return SCOPES.find((scope) => scope === named) ?? 'admin'
}
