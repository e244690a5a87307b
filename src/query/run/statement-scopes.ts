import {
  covers,
  type Principal,
  type Rights,
  requireEverything,
  requireScope,
  type Scope,
  sees,
} from '../../core/domain/access/principal.ts'
import type { VisibleCatalogs } from '../../core/domain/access/visible-catalog.ts'
import type { Job } from '../../core/domain/flow/job.ts'
import type { JobStore, Jobs } from '../../core/domain/ports/job-ports.ts'
import type { Catalog } from '../../core/domain/ports/store-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { Statement } from '../../sql/dialect/parse-statement.ts'
import type { QueryDeps } from '../select/query-deps.ts'

/** `everything`: an admin of all projects. */
type Scopes = readonly (Scope | 'everything')[]
type Kind = Statement['kind']

/**
 * The scopes each kind of statement needs before anything in it is examined. What it reads beyond that, such as a SELECT
 * within it, needs its own: names are resolved with the caller's rights. A kind missing here does not compile.
 */
const SCOPES: {
  readonly [K in Kind]: Scopes | ((statement: Extract<Statement, { kind: K }>) => Scopes)
} = {
  describe_agent: ['read'],
  describe_database: ['read'],
  describe_knowledge_base: ['read'],
  show_indexes: ['read'],
  show: ['read'],
  show_create: ['read'],
  describe: ['read'],
  // Their SELECT says whether it reads or asks.
  explain: [],
  set: [],
  use: [],
  transaction: [],
  create_knowledge_base: ['write'],
  // Another model receives all stored text.
  alter_knowledge_base: ['write', 'read'],
  drop_knowledge_base: ['write'],
  create_index: ['write'],
  drop_index: ['write'],
  create_agent: ['write'],
  alter_agent: ['write'],
  drop_agent: ['write'],
  create_view: ['write'],
  alter_view: ['write'],
  drop_view: ['write'],
  create_table: ['write'],
  drop_table: ['write'],
  alter_table: ['write'],
  // Its answer reveals what is in the table.
  truncate: ['write', 'read'],
  insert: ({ ofTable }) => (ofTable === undefined ? ['write'] : ['write', 'read']),
  // The number of changed rows reveals what the conditions match.
  update: ['write', 'read'],
  delete: ['write', 'read'],
  query_cancel: ['write'],
  query_resume: ['write'],
  vacuum: ({ name }) => (name === null ? ['everything'] : ['write']),
  // A project is only its contents; a remote database is a way out of this machine.
  create_database: ({ engine }) => (engine === null ? ['write'] : ['everything']),
  drop_database: ({ isProject }) => (isProject ? ['write'] : ['everything']),
  alter_database: ['everything'],
  // It runs by itself, with all rights.
  create_job: ['everything'],
  drop_job: ['everything'],
  // A principal cannot grant more than it has: the definitions check that.
  create_key: ['admin'],
  drop_key: ['admin'],
  show_keys: ['admin'],
  create_user: ['admin'],
  alter_user: ['admin'],
  drop_user: ['admin'],
  show_users: ['admin'],
  // They bring documents by themselves, from folders and addresses.
  sources: ['everything'],
  evaluate_knowledge_base: ({ options }) => {
    return isSet(options.save_to) || isSet(options.generate_data) ? ['read', 'write'] : ['read']
  },
  evaluate_agent: ({ options }) => {
    return isSet(options.save_to) || isSet(options.run) || isSet(options.background)
      ? ['ask', 'write']
      : ['ask']
  },
}

const UNKNOWN: Scopes = ['everything']

/** @throws AppError `forbidden` */
export function requireScopesOf(statement: Statement, principal: Principal): void {
  for (const scope of scopesOf(statement)) {
    if (scope === 'everything') requireEverything(principal)
    else requireScope(principal, scope)
  }
}

export function scopesOf(statement: Statement): Scopes {
  const known: unknown = Object.hasOwn(SCOPES, statement.kind) ? SCOPES[statement.kind] : UNKNOWN
  if (typeof known === 'function') return known(statement)
  return Array.isArray(known) ? known : UNKNOWN
}

/** All kinds with a line above. */
export const CLASSIFIED_KINDS: readonly string[] = Object.keys(SCOPES)

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false
}

/** The dependencies of a statement whose caller may not see or read everything. */

/** @param author who defines things; null: what runs by itself, which defines nothing */
export function depsFor(
  deps: QueryDeps,
  author: Principal | null,
  rights: Rights | null,
  given: {
    readonly visible: VisibleCatalogs
    readonly jobStore: Pick<JobStore, 'workOf'>
  },
): QueryDeps {
  const { visible, jobStore } = given
  const own = author === null ? deps : { ...deps, author }
  if (rights === null) return own
  return {
    ...own,
    rights,
    catalog: limitedCatalog(deps.catalog, rights, visible),
    jobs: limitedJobs(deps.jobs, rights, jobStore),
  }
}

/** The same catalog, with a limited view. */
function limitedCatalog(catalog: Catalog, rights: Rights, visible: VisibleCatalogs): Catalog {
  const snapshot = () => visible.of(catalog.snapshot(), rights)
  return new Proxy(catalog, {
    get(target, name) {
      if (name === 'snapshot') return snapshot
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** Jobs of the projects the principal may name; others do not exist for it. */
export function limitedJobs(
  jobs: Jobs,
  rights: Rights | null,
  store: Pick<JobStore, 'workOf'>,
): Jobs {
  if (rights === null) return jobs
  const isSeen = ({ projectName }: Pick<Job, 'projectName'>) => sees(rights, projectName)
  const seen = (id: number): Job => {
    const job = jobs.list().find((one) => one.id === id)
    if (job !== undefined && isSeen(job)) return job
    throw new AppError('job_not_found', `There is no job ${id}`)
  }
  /** It runs with the rights of the principal who started it; restarting it requires these rights. */
  const refuseOthers = async (id: number) => {
    const { kind } = seen(id)
    // It reads and writes one knowledge base they can see.
    if (kind === 'rechunk') return
    const { request } = await store.workOf(id)
    const isOwnKind = kind === 'insert' || kind === 'import' || kind === 'evaluation'
    if (isOwnKind && covers(rights, rightsOfWork(request))) return
    const why = 'the user who started it has more rights than you'
    throw new AppError('forbidden', `Job ${id} may not be begun again: ${why}`)
  }
  return {
    start: (draft) => jobs.start(draft),
    adopt: (draft, ongoing) => jobs.adopt(draft, ongoing),
    list: () => jobs.list().filter(isSeen),
    get: (id) => seen(id),
    requestOf: async (id) => jobs.requestOf(seen(id).id),
    cancel: async (id) => jobs.cancel(seen(id).id),
    retry: async (id) => {
      await refuseOthers(id)
      return jobs.retry(id)
    },
    resume: async (id) => {
      await refuseOthers(id)
      return jobs.resume(id)
    },
    remove: async (id) => jobs.remove(seen(id).id),
    removeOver: (ids) => {
      const own = new Set(
        jobs
          .list()
          .filter(isSeen)
          .map(({ id }) => id),
      )
      return jobs.removeOver(ids.filter((id) => own.has(id)))
    },
    watch: (id, signal) => jobs.watch(seen(id).id, signal),
  }
}

/** The rights in the stored request of a job; null: it was started by a principal with all rights. */
export function rightsOfWork(request: unknown): Rights | null {
  if (typeof request !== 'object' || request === null || !('rights' in request)) return null
  // Only this program writes requests of jobs.
  return (request.rights ?? null) as Rights | null
}
