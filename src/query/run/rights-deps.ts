/** What a statement is given that runs for somebody who may not see or read everything. */
import { covers, type Principal, type Rights, sees } from '../../core/domain/access/principal.ts'
import type { VisibleCatalogs } from '../../core/domain/access/visible-catalog.ts'
import type { Job } from '../../core/domain/flow/job.ts'
import type { JobStore, Jobs } from '../../core/domain/ports/job-ports.ts'
import type { Catalog } from '../../core/domain/ports/store-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { QueryDeps } from '../select/query-deps.ts'

/** @param author who defines things; null: what runs by itself, which defines nothing */
export function depsFor(
  deps: QueryDeps,
  author: Principal | null,
  rights: Rights | null,
  {
    visible,
    jobStore,
  }: {
    readonly visible: VisibleCatalogs
    readonly jobStore: Pick<JobStore, 'workOf'>
  },
): QueryDeps {
  const own = author === null ? deps : { ...deps, author }
  if (rights === null) return own
  return {
    ...own,
    rights,
    catalog: limitedCatalog(deps.catalog, rights, visible),
    jobs: limitedJobs(deps.jobs, rights, jobStore),
  }
}

/** The same catalog, of which less is seen. */
export function limitedCatalog(
  catalog: Catalog,
  rights: Rights,
  visible: VisibleCatalogs,
): Catalog {
  const snapshot = () => visible.of(catalog.snapshot(), rights)
  return new Proxy(catalog, {
    get(target, name) {
      if (name === 'snapshot') return snapshot
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** Jobs of the projects that somebody may name; others are not there. */
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
  /** It runs with the rights of whoever began it: who begins it again must have these. */
  const refuseOthers = async (id: number) => {
    const { kind } = seen(id)
    // It reads and writes one knowledge base that they see.
    if (kind === 'rechunk') return
    const { request } = await store.workOf(id)
    const isOwnKind = kind === 'insert' || kind === 'import' || kind === 'evaluation'
    if (isOwnKind && covers(rights, rightsOfWork(request))) return
    const why = 'whoever began it may do more than you'
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

/** As they stand in the stored request of a job; null: it was begun by somebody who may do everything. */
export function rightsOfWork(request: unknown): Rights | null {
  if (typeof request !== 'object' || request === null || !('rights' in request)) return null
  // Only this program writes requests of jobs.
  return (request.rights ?? null) as Rights | null
}
