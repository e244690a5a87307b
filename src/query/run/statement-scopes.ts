import {
  covers,
  type Principal,
  type Rights,
  requireEverything,
  requireScope,
  type Scope,
  sees,
} from '../../core/domain/access/principal.ts'
import { mentionsHidden, type VisibleCatalogs } from '../../core/domain/access/visible-catalog.ts'
import type { Activity, Job, StoredJob } from '../../core/domain/flow/job.ts'
import type { SyncRun, SyncSource } from '../../core/domain/flow/sync-source.ts'
import type { JobStore, Jobs, Schedules, SourceKeeping } from '../../core/domain/ports/job-ports.ts'
import type { Catalog } from '../../core/domain/ports/store-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { Statement } from '../../sql/dialect/parse-statement.ts'
import type { QueryDeps, ShownActivity } from '../select/query-deps.ts'

/** `everything` requires an admin of all projects. */
type Scopes = readonly (Scope | 'everything')[]
type Kind = Statement['kind']

/** Before looking at contents; names check what it reads. The compiler requires all kinds. */
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
  // Depends on the SELECT that they contain.
  explain: [],
  set: [],
  use: [],
  transaction: [],
  create_knowledge_base: ['write'],
  // Needs `read`, because a new model would receive all stored text.
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
  // Needs `read`, because the answer reveals how many rows there were.
  truncate: ['write', 'read'],
  insert: ({ ofTable }) => (ofTable === undefined ? ['write'] : ['write', 'read']),
  // Needs `read`, because the number of changed rows reveals which rows match a condition.
  update: ['write', 'read'],
  delete: ['write', 'read'],
  query_cancel: ['write'],
  query_resume: ['write'],
  vacuum: ({ name }) => (name === null ? ['everything'] : ['write']),
  // A project only contains objects, but a remote database opens a connection to another machine.
  create_database: ({ engine }) => (engine === null ? ['write'] : ['everything']),
  drop_database: ({ isProject }) => (isProject ? ['write'] : ['everything']),
  alter_database: ['everything'],
  // A job runs without a user, with all rights.
  create_job: ['everything'],
  drop_job: ['everything'],
  // A source fetches documents from folders and addresses.
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

/** All kinds of statements listed above. */
export const CLASSIFIED_KINDS: readonly string[] = Object.keys(SCOPES)

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false
}

/** @param author who makes changes; null for automatic work, which makes none */
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
  const reader: Reader = {
    rights,
    isOpen: (sql) => visible.isOpen(sql, deps.catalog.snapshot(), rights),
    isQuiet: (message) => !mentionsHidden(message, deps.catalog.snapshot(), rights),
  }
  return {
    ...own,
    rights,
    catalog: limitedCatalog(deps.catalog, rights, visible),
    jobs: limitedJobs(deps.jobs, reader, jobStore),
    schedules: limitedSchedules(deps.schedules, reader),
    activity: limitedActivity(deps.activity, reader),
    keeping: limitedKeeping(deps.keeping, reader),
  }
}

interface Reader {
  readonly rights: Rights
  readonly isOpen: (sql: string) => boolean
  /** Whether a message contains no hidden name. */
  readonly isQuiet: (message: string) => boolean
}

/** Shown instead of statements and errors with names that the reader may not see. */
const HIDDEN_JOB = '-- Hidden: this job names other projects or databases'
const HIDDEN_SOURCE = '-- Hidden: this source reads other projects or databases'
const ERROR_OF_RUN = 'Read the error in the runs of the scheduled job or source'
const HIDDEN_ERROR = 'Hidden: it names other projects or databases'

/** Returns the same catalog with a limited view. */
function limitedCatalog(catalog: Catalog, rights: Rights, visible: VisibleCatalogs): Catalog {
  return replaced(catalog, { snapshot: () => visible.of(catalog.snapshot(), rights) })
}

function replaced<T extends object>(object: T, members: Partial<T>): T {
  return new Proxy(object, {
    get(target, name) {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name)
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** If a source reads other projects, its query and its runs' errors are hidden. */
function limitedKeeping(keeping: SourceKeeping, { isOpen }: Reader): SourceKeeping {
  const shown = (source: SyncSource): SyncSource => {
    const { query = '', table } = source.parameters
    const sql = table === undefined ? query : `TABLE ${table}`
    return isOpen(String(sql))
      ? source
      : { ...source, parameters: { [source.kind]: HIDDEN_SOURCE } }
  }
  const shownRun = (source: SyncSource, run: SyncRun): SyncRun => {
    if (shown(source).parameters[source.kind] !== HIDDEN_SOURCE) return run
    return { ...run, error: run.error && HIDDEN_ERROR, errors: hiddenErrors(run) }
  }
  return replaced(keeping, {
    list: (kb) => keeping.list(kb).map(shown),
    stateOf: (source) => {
      const state = keeping.stateOf(source)
      return { ...state, lastRun: state.lastRun && shownRun(source, state.lastRun) }
    },
    runs: async (source, limit) => {
      return (await keeping.runs(source, limit)).map((run) => shownRun(source, run))
    },
  })
}

function hiddenErrors({ errors }: Pick<StoredJob, 'errors'>): StoredJob['errors'] {
  return errors.map(({ item }) => ({ item, message: HIDDEN_ERROR }))
}

function limitedSchedules(schedules: Schedules, { rights, isOpen }: Reader): Schedules {
  const { store } = schedules
  const list = () => {
    const seen = store.list().filter(({ projectName }) => sees(rights, projectName))
    return seen.map((schedule) => {
      const { query, ifQuery } = schedule
      if (isOpen(query) && (ifQuery === null || isOpen(ifQuery))) return schedule
      return { ...schedule, query: HIDDEN_JOB, ifQuery: null, marks: {} }
    })
  }
  const runs: typeof store.runs = async (id) => {
    const queries = new Map(list().map((schedule) => [schedule.id, schedule.query]))
    return (await store.runs(id)).flatMap((run) => {
      const query = queries.get(run.scheduleId)
      if (query === undefined) return []
      return query === HIDDEN_JOB ? { ...run, error: run.error && HIDDEN_ERROR } : run
    })
  }
  return replaced(schedules, { store: { list, runs } })
}

function limitedActivity(activity: ShownActivity, reader: Reader): ShownActivity {
  const now = (): Activity => {
    const { version, inserts, jobs } = activity.now()
    const seen = limitedJobList(jobs, reader)
    const errors = new Map(seen.map(({ id, error }) => [id, error]))
    return {
      version,
      jobs: seen,
      inserts: inserts.map((insert) => {
        const error = insert.jobId === null ? insert.error : (errors.get(insert.jobId) ?? null)
        return { ...insert, error: error === null || reader.isQuiet(error) ? error : HIDDEN_ERROR }
      }),
    }
  }
  return { now, shownIn: (snapshot) => ({ ...snapshot, activity: now() }) }
}

function limitedJobList<J extends StoredJob>(jobs: readonly J[], reader: Reader): readonly J[] {
  const seen = jobs.filter(({ projectName }) => sees(reader.rights, projectName))
  return seen.map((job) => shownJob(job, reader))
}

/** Hides what a job's statement reveals about other projects. */
function shownJob<J extends StoredJob>(job: J, { isOpen, isQuiet }: Reader): J {
  // Whether a run's errors may be shown depends on its schedule or source, and is decided where the
  // runs are listed.
  if (job.kind === 'schedule' || job.kind === 'sync') {
    return { ...job, error: job.error && ERROR_OF_RUN, errors: [] }
  }
  const isTitleOpen = job.kind === 'insert' ? isOpen(job.title) : isQuiet(job.title)
  const messages = [job.error ?? '', ...job.errors.map(({ message }) => message)]
  if (isTitleOpen && messages.every(isQuiet)) return job
  const title = isTitleOpen ? job.title : HIDDEN_JOB
  return { ...job, title, error: job.error && HIDDEN_ERROR, errors: hiddenErrors(job) }
}

/** Limits jobs to projects that the reader may name. Other jobs do not exist for the reader. */
function limitedJobs(jobs: Jobs, reader: Reader, store: Pick<JobStore, 'workOf'>): Jobs {
  const { rights } = reader
  const list = () => limitedJobList(jobs.list(), reader)
  const seen = (id: number): Job => {
    const job = list().find((one) => one.id === id)
    if (job !== undefined) return job
    throw new AppError('job_not_found', `There is no job ${id}`)
  }
  /** A job runs with its starter's rights, so restarting it requires the same. */
  const refuseOthers = async (id: number) => {
    const { kind } = seen(id)
    // These jobs work on one knowledge base, which the reader can see.
    if (kind === 'rechunk' || kind === 'move') return
    const { request } = await store.workOf(id)
    const isOwnKind = kind === 'insert' || kind === 'import' || kind === 'evaluation'
    if (isOwnKind && covers(rights, rightsOfWork(request))) return
    const why = 'the user who started it has more rights than you'
    throw new AppError('forbidden', `Job ${id} may not be restarted: ${why}`)
  }
  return {
    start: (draft) => jobs.start(draft),
    adopt: (draft, ongoing) => jobs.adopt(draft, ongoing),
    list,
    get: seen,
    requestOf: async (id) => jobs.requestOf(seen(id).id),
    cancel: async (id) => shownJob(await jobs.cancel(seen(id).id), reader),
    retry: async (id) => {
      await refuseOthers(id)
      return shownJob(await jobs.retry(id), reader)
    },
    resume: async (id) => {
      await refuseOthers(id)
      return shownJob(await jobs.resume(id), reader)
    },
    remove: async (id) => jobs.remove(seen(id).id),
    removeOver: (ids) => {
      const own = new Set(list().map(({ id }) => id))
      return jobs.removeOver(ids.filter((id) => own.has(id)))
    },
    async *watch(id, signal) {
      for await (const job of jobs.watch(seen(id).id, signal)) yield shownJob(job, reader)
    },
  }
}

/** Returns the rights in a job's stored request; null if it was started with all rights. */
export function rightsOfWork(request: unknown): Rights | null {
  if (typeof request !== 'object' || request === null || !('rights' in request)) return null
  // Only this program writes requests of jobs, so the type is right.
  return (request.rights ?? null) as Rights | null
}
