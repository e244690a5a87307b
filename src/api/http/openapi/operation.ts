/** What an operation of the API is: declared once, it is routed, checked, documented and noted in the audit log. */
import type { TSchema } from 'elysia'
import {
  type CatalogSnapshot,
  requireAgent,
  requireKnowledgeBase,
  requireProject,
} from '../../../core/domain/access/catalog-snapshot.ts'
import type { Principal, Scope } from '../../../core/domain/access/principal.ts'
import type { Agent } from '../../../core/domain/agents/agent.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import type { Project } from '../../../core/domain/names.ts'
import { type BodySchema, readJson } from '../bodies/body.ts'
import type { RouteContext } from '../request/route-context.ts'
import type { RequestScope } from '../request/running-requests.ts'

export const OPENAPI_PATH = '/openapi.json'

export const TAGS = {
  Projects:
    'Namespaces of knowledge bases, agents, views and tables. The first one is `mindsdb`. A key may be limited to some projects; for it, the others do not exist.',
  'Knowledge bases':
    'Documents that you can search by meaning and by keywords. `updateKnowledgeBase` stores rows, files and web pages, which are chunked and embedded. `searchKnowledgeBase` finds them, with filters on their metadata.',
  Documents:
    'Single documents of a knowledge base. Lists have pages: send `next` of one page as `cursor` of the next. Changing metadata does not embed anything.',
  Agents:
    'Models with an instruction and with data to read. `askAgent` returns a whole answer, `streamAgent` streams it, both with citations. An agent reads its own data, with its own rights, for everyone who may ask it.',
  Traces:
    'The record of each question to an agent: steps, times, tokens, cost and feedback. Traces show what the agent read, so only callers who may ask it see them.',
  Jobs: 'Background work: watch its progress, cancel and continue it. The jobs of a project are schedules; each of their runs is a job in the list.',
  Files:
    'Uploaded files, which SQL reads as `files.<name>`. Tables, documents and archives are recognised by their content; options sent with a file override that.',
  Sources:
    'Folders, sites, files and queries that knowledge bases sync with. A run stores new documents, replaces changed ones and deletes removed ones.',
  SQL: 'One statement per request, in DuckDB\'s dialect. A failed statement has status 200 and `type: "error"`, as existing clients expect. A single SELECT can also be sent in a URL, for notebooks and shared links.',
  MCP: 'The Model Context Protocol, for programs with their own models: its tools search, read, query and ask agents. Use a client of the protocol rather than these operations.',
  Databases:
    'The namespaces of SQL: projects, data sources, `files` and `information_schema`. Data sources are remote databases whose tables work next to those of Eider.',
  OpenAI:
    "OpenAI's API: agents and knowledge bases as models, vector stores and files. Its official clients work with the base URL of this server and `/v1`. Errors have OpenAI's form.",
  Views: 'Named SELECT statements, read like tables.',
  Backups: 'Copies of all data, made while the server runs.',
  Access:
    'Keys and users: who may log in, and what they may do. A key is shown only once, when it is created. The audit log shows who changed what.',
  Server: 'Login, health checks and version. Health checks need no login.',
} as const

/** The scope an operation needs if the login is on; `login`: any user or key, `nothing`: no login at all. */
type Need = Scope | 'login' | 'nothing'

/** An answer whose body has a schema: it is in the document, and tests hold every such answer against it. */
export interface DescribedAnswer {
  readonly description: string
  /** The schema of JSON, or of the content type in `produces`; for an event stream, of each event. */
  readonly schema?: TSchema
  /** It has no body. */
  readonly isEmpty?: true
  /** Other content types of the answer, with their schemas. */
  readonly also?: Readonly<Record<string, TSchema>>
  /** Headers that matter, and what each says. */
  readonly headers?: Readonly<Record<string, string>>
}

export type DeclaredAnswer =
  | string
  | readonly [description: string, schema: TSchema]
  | DescribedAnswer

/** The document's view of an operation. */
interface Declaration {
  /** The name of the operation for generated clients: `listProjects`. It never changes. Hidden operations have none. */
  readonly id?: string
  readonly summary: string
  /** More than the summary, as Markdown. */
  readonly description?: string
  /** Unset: `read` for GET, `write` for all others. */
  readonly needs?: Need
  /** Request headers it reads, and their effect. */
  readonly headers?: Readonly<Record<string, string>>
  /** The body may be missing. */
  readonly isBodyOptional?: boolean
  /** Content types of a body that is not JSON: a form with files, or a raw file; or one that only its own reader can parse. */
  readonly takes?: readonly string[]
  /** Fields of the form in `takes`, and of the JSON; files are parts named `file`. */
  readonly form?: TSchema
  /** Status → what it means. The document adds what every operation of a kind may answer. Unset: 204. */
  readonly answers?: Readonly<Record<number, DeclaredAnswer>>
  /** Content type of the success, if not JSON. */
  readonly produces?: string
  /** JSON with a failure, if another API has its own form. */
  readonly failsAs?: TSchema
  /** The document leaves it out. */
  readonly isHidden?: boolean
}

/** The names in a path: `/api/files/:file_name` → `file_name`. */
type PathParams<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [K in Name]: string } & PathParams<Rest>
  : P extends `${string}:${infer Name}`
    ? { readonly [K in Name]: string }
    : object

/** The context in which a path is looked up. */
export interface Place<Params> {
  readonly request: Request
  readonly params: Params
  /** Everything with a name that the principal may see, as of the last committed change. */
  readonly snapshot: CatalogSnapshot
  readonly principal: Principal
}

interface Read<Query, Body, Found> {
  readonly query: Query
  readonly body: Body
  readonly found: Found
}

interface Call<P extends string, Query, Body, Found>
  extends Place<PathParams<P>>,
    Read<Query, Body, Found> {
  readonly scope: RequestScope
  readonly signal: AbortSignal
}

/** Parameters of the query: most are read by the same declaration. */
interface DeclaredQuery<T> {
  readonly parameters: Readonly<Record<string, { readonly schema: TSchema }>>
  read(request: Request): T
}

interface OperationInit<P extends string, Query, Body, Found> extends Declaration {
  readonly query?: DeclaredQuery<Query>
  /** The object named in the path: looked up before the body is read, and again after it, because it may change in between. */
  readonly find?: (place: Place<PathParams<P>>) => Found
  readonly body?: BodySchema<Body>
  /** @returns an answer, a record that becomes JSON with the first status of `answers`, or nothing: 204 */
  run(call: Call<P, Query, Body, Found>): unknown
}

export interface Operation extends Declaration {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly tag: keyof typeof TAGS
  readonly needs: Need
  readonly query?: DeclaredQuery<unknown>
  readonly body?: BodySchema<unknown>
  answer(request: Request, params: Readonly<Record<string, string>>): Promise<Response>
}

type Declare<Method extends string> = {
  readonly [M in Method]: <const P extends string, Query, Body, Found>(
    path: P,
    init: OperationInit<P, Query, Body, Found>,
  ) => void
}

type Resource = Declare<'get' | 'head' | 'post' | 'put' | 'patch' | 'delete'>

export type Operations = (context: RouteContext) => readonly Operation[]

/** The operations of one resource, which share a tag. */
export function resource(
  tag: keyof typeof TAGS,
  declare: (api: Resource, context: RouteContext) => void,
): Operations {
  return (context) => {
    const operations: Operation[] = []
    const adding = <P extends string, Query, Body, Found>(method: Operation['method']) => {
      return (path: P, init: OperationInit<P, Query, Body, Found>) => {
        operations.push(operationOf(context, { method, path, tag }, init))
      }
    }
    const api = {
      ...{ get: adding('GET'), head: adding('HEAD'), post: adding('POST'), put: adding('PUT') },
      ...{ patch: adding('PATCH'), delete: adding('DELETE') },
    }
    // One function serves every path: what its operation is given follows from `init`.
    declare(api as Resource, context)
    return operations
  }
}

function operationOf<P extends string, Query, Body, Found>(
  context: RouteContext,
  at: Pick<Operation, 'method' | 'path' | 'tag'>,
  init: OperationInit<P, Query, Body, Found>,
): Operation {
  const { find, run, ...declaration } = init
  const isReading = at.method === 'GET' || at.method === 'HEAD'
  const [first = '204'] = Object.keys(init.answers ?? {})
  const status = Number(first)
  return {
    needs: isReading ? 'read' : 'write',
    ...declaration,
    ...at,
    async answer(request, sent) {
      const scope = context.scopeOf(request)
      const { principal, signal } = scope
      // The router gives exactly the names of the path.
      const params = sent as PathParams<P>
      const place = () => ({ request, params, snapshot: context.snapshotFor(request), principal })
      const query = init.query?.read(request)
      let found = find?.(place())
      let body: Body | undefined
      if (init.body !== undefined) {
        body = await readJson(context, request, init.body, init.isBodyOptional)
        found = find?.(place())
      }
      const given = { ...place(), scope, signal, query, body, found }
      // `run` sees declared parameters only.
      const result = await run(given as typeof given & Read<Query, Body, Found>)
      if (result instanceof Response) return result
      if (result === undefined) return new Response(null, { status: 204 })
      return Response.json(result, { status })
    },
  }
}

/** What paths name, for `find` of operations. */

export type At<Names extends string> = Pick<
  Place<{ readonly [K in Names]: string }>,
  'params' | 'snapshot'
>

/** @throws AppError `project_not_found` */
export function projectAt({ params, snapshot }: At<'project_name'>): Project {
  return requireProject(snapshot, params.project_name)
}

/** @throws AppError `project_not_found`, `knowledge_base_not_found` */
export function knowledgeBaseAt({
  params,
  snapshot,
}: At<'project_name' | 'knowledge_base_name'>): KnowledgeBase {
  return requireKnowledgeBase(snapshot, params.project_name, params.knowledge_base_name)
}

/** @throws AppError `project_not_found`, `agent_not_found` */
export function agentAt({ params, snapshot }: At<'project_name' | 'agent_name'>): Agent {
  return requireAgent(snapshot, params.project_name, params.agent_name)
}
