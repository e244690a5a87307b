/**
 * One operation of the API. It is declared once; routing, checks, documentation and the audit log
 * follow from that.
 */
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
import { jsonAnswer } from '../answers/streamed-response.ts'
import { type BodySchema, readJson } from '../bodies/body.ts'
import type { RouteContext } from '../request/route-context.ts'
import type { RequestScope } from '../request/running-requests.ts'

export const OPENAPI_PATH = '/openapi.json'

export const TAGS = {
  Projects:
    'Namespaces of knowledge bases, agents, views and tables. The default project is `mindsdb`. A key limited to some projects cannot see the others.',
  'Knowledge bases':
    'Documents that you can search by meaning and by keywords. `updateKnowledgeBase` chunks, embeds and stores rows, files and web pages. `searchKnowledgeBase` finds them, with filters on their metadata.',
  Documents:
    'The documents of a knowledge base. To get the next page of a list, send `next` as `cursor`. Changing metadata does not embed anything.',
  Agents:
    'Models with an instruction and data to read. `askAgent` returns a complete answer, `streamAgent` streams it, both with citations. An agent reads its data with its own rights, regardless of who asks it.',
  Traces:
    'The record of each question to an agent: steps, times, tokens, cost and feedback. Traces show what the agent read, so only callers who can ask the agent see them.',
  Jobs: 'Background work that you can watch, cancel and continue. Scheduled jobs belong to a project; each run is listed as a job.',
  Files:
    'Uploaded files, which SQL reads as `files.<name>`. The server recognises tables, documents and archives by their content; options that you send with a file override that.',
  Sources:
    'Folders, sites, files and queries that knowledge bases sync with. A run stores new documents, replaces changed ones and deletes removed ones.',
  SQL: 'One statement per request, in DuckDB\'s dialect. A failed statement has status 200 and `type: "error"`, as existing clients expect. A single SELECT can also be sent in a URL, for notebooks and shared links.',
  MCP: 'The Model Context Protocol, for programs with their own models. Its tools search and read documents, run SQL, and ask agents. Use an MCP client rather than these operations.',
  Databases:
    'The namespaces of SQL: projects, data sources, `files` and `information_schema`. Data sources are remote databases whose tables you can join with everything else.',
  OpenAI:
    "OpenAI's API, with agents and knowledge bases as models, vector stores and files. Its official clients work if you set their base URL to this server’s address with `/v1`. Errors look like OpenAI's.",
  Views: 'Named SELECT statements, read like tables.',
  Backups: 'Copies of all data, made while the server runs.',
  Access:
    'Keys and users, and what they can do. A key is shown only once, when you create it. The audit log shows who changed what.',
  Server: 'Login, health checks and version. Of the health checks, only readiness needs a login.',
} as const

/** If login is on. `login` means any user or key, `nothing` no login at all. */
type Need = Scope | 'login' | 'nothing'

/** It appears in the OpenAPI document, and tests check all such answers. */
export interface DescribedAnswer {
  readonly description: string
  /** The schema of the JSON, or of the type in `produces`; for an event stream, of each event. */
  readonly schema?: TSchema
  readonly isEmpty?: true
  /** Alternative content types of the answer, with their schemas. */
  readonly also?: Readonly<Record<string, TSchema>>
  /** Important headers and what they mean. */
  readonly headers?: Readonly<Record<string, string>>
}

export type DeclaredAnswer =
  | string
  | readonly [description: string, schema: TSchema]
  | DescribedAnswer

interface Declaration {
  /** In generated clients, such as `listProjects`; must never change. Hidden ones have none. */
  readonly id?: string
  readonly summary: string
  /** Details beyond the summary, as Markdown. */
  readonly description?: string
  readonly needs?: Need
  /** The request headers that the operation reads, and their effect. */
  readonly headers?: Readonly<Record<string, string>>
  readonly isBodyOptional?: boolean
  /** Unless JSON: a form with files, a raw file, or a format with its own parser. */
  readonly takes?: readonly string[]
  /** The fields of a form or JSON body listed in `takes`. Files are parts named `file`. */
  readonly form?: TSchema
  /** The document adds statuses common to this kind of operation. If unset, 204. */
  readonly answers?: Readonly<Record<number, DeclaredAnswer>>
  /** The content type of a successful answer, if it is not JSON. */
  readonly produces?: string
  readonly failsAs?: TSchema
  readonly isHidden?: boolean
}

/** The parameter names in a path: `/api/files/:file_name` → `file_name`. */
type PathParams<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [K in Name]: string } & PathParams<Rest>
  : P extends `${string}:${infer Name}`
    ? { readonly [K in Name]: string }
    : object

/** What is needed to look up the object that a path names. */
export interface Place<Params> {
  readonly request: Request
  readonly params: Params
  /** All named objects the principal may see, as of the last committed change. */
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

/** Declares query parameters and usually reads them too. */
interface DeclaredQuery<T> {
  readonly parameters: Readonly<Record<string, { readonly schema: TSchema }>>
  read(request: Request): T
}

interface OperationInit<P extends string, Query, Body, Found> extends Declaration {
  readonly query?: DeclaredQuery<Query>
  /** Called before the body is read, and again after, because it may have changed. */
  readonly find?: (place: Place<PathParams<P>>) => Found
  readonly body?: BodySchema<Body>
  /** @returns a response, a record sent as JSON with the first status, or nothing for 204 */
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
    // One function serves all paths; `init` determines what `run` receives.
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
      // The router passes exactly the names in the path.
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
      // `run` sees only declared parameters.
      const result = await run(given as typeof given & Read<Query, Body, Found>)
      if (result instanceof Response) return result
      if (result === undefined) return new Response(null, { status: 204 })
      return jsonAnswer(result, status, scope)
    },
  }
}

/** Functions that look up the object a path names, for `find` of an operation. */

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
