/** How a route is declared: what it needs, takes and answers. `openapi-document.ts` makes the document of it. */
import type { DocumentDecoration, TSchema } from 'elysia'
import { SCOPES, type Scope } from '../../../core/domain/access/principal.ts'
import type { BodySchema } from '../bodies/body.ts'

export const OPENAPI_PATH = '/openapi.json'

export const TAGS = {
  Projects:
    'Namespaces of knowledge bases, agents, views and tables. There is one at first, `mindsdb`. A key may be limited to some of them; it sees the others as if they did not exist.',
  'Knowledge bases':
    'Documents that can be searched by meaning and by keywords. `updateKnowledgeBase` stores rows, files and addresses; they are split into chunks and embedded. `searchKnowledgeBase` finds them, with filters on their metadata.',
  Documents:
    'What is stored in a knowledge base, document by document. Lists come in pages: send `next` of one as `cursor` of the following. Changing metadata embeds nothing again.',
  Agents:
    'Models with instructions and with the data that they may read. `askAgent` answers as a whole, `streamAgent` piece by piece, both with citations. What an agent may read is its own right, whoever asks it.',
  Traces:
    'What questions to agents left behind: steps, times, tokens, cost, feedback. They hold what the agent read, so that they are shown to those who may ask it.',
  Jobs: 'Work that goes on without a request: its progress, and how to stop it and go on with it. Jobs of a project run by themselves, by their schedules; each run is a job of the list.',
  Files:
    'Uploaded files; SQL reads them as `files.<name>`. Tables, documents and archives are recognised by their content. What is said about a file beside its bytes has a say in how it is read.',
  Sources:
    'What knowledge bases are kept in step with: folders, sites, files, queries. A run stores what is new, replaces what has changed and deletes what is gone.',
  SQL: 'One statement per request, in DuckDB\'s dialect. A statement that fails is answered with status 200 and `type: "error"`, as existing clients expect. One SELECT may stand in an address, for notebooks and shared links.',
  MCP: 'The Model Context Protocol, for programs with models of their own. They search, read, query and ask agents by its tools. Use a client of the protocol rather than these operations.',
  Databases:
    'The namespaces of SQL: projects, data sources, `files` and `information_schema`. Data sources are other databases, which statements read beside those of Eider.',
  OpenAI:
    "OpenAI's API: agents and knowledge bases as models, vector stores and files. Its official clients work with the base URL of this server and `/v1`. Errors have that API's own form.",
  Views: 'Named SELECT statements. They are read as tables are, by whoever may read them.',
  Backups:
    'Copies of everything that is stored, made while the server runs. They hold what every project holds.',
  Access:
    'Keys and users: who may come in, and what they may do. A key is shown once, when it is made. The audit log tells what was changed by whom.',
  Server: 'Login, health checks and version. Health checks need no login.',
} as const

/** The scope that a route needs where the login is on; `login`: anybody who is logged in, `nothing`: everyone may. */
export type RouteNeed = Scope | 'login' | 'nothing'

/** An answer whose body has a schema: the document's, and what the tests hold every such answer against. */
export interface DescribedAnswer {
  readonly description: string
  /** Of JSON, or of what `produces` names; of an event stream, of each event. */
  readonly schema?: TSchema
  /** It has no body. */
  readonly isEmpty?: true
  /** Content types that it may have besides, and what each holds. */
  readonly also?: Readonly<Record<string, TSchema>>
  /** Headers that matter, and what each says. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface RouteOptions {
  /** The name of the operation for generated clients: `listProjects`. It never changes. Who is hidden has none. */
  readonly id?: string
  readonly summary: string
  /** What the summary cannot say, as Markdown. */
  readonly description?: string
  readonly tag: keyof typeof TAGS
  /** Parameters of the query; most are read by the same declaration. */
  readonly query?: {
    readonly parameters: Readonly<Record<string, { readonly schema: TSchema }>>
  }
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
