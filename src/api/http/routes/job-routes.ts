/** Jobs: work without a request, and what runs by itself on a schedule, whose runs are jobs, too. */
import { t } from 'elysia'
import { requireProject } from '../../../core/domain/access/catalog-snapshot.ts'
import { isOver, JOB_KINDS, JOB_STATES, type Job } from '../../../core/domain/flow/job.ts'
import { withoutSecrets } from '../../../core/domain/flow/source-parameters.ts'
import type { ScheduleRun, StoredSchedule } from '../../../core/domain/flow/sync-source.ts'
import { nameKey } from '../../../core/domain/identifier.ts'
import { AppError, notFound } from '../../../core/errors.ts'
import { eventStream } from '../answers/event-stream.ts'
import { recordOf } from '../answers/record-of.ts'
import {
  DELETED_JOBS,
  JOB,
  JOB_LIST,
  SCHEDULE,
  SCHEDULE_RUN,
} from '../answers/records/catalog-schemas.ts'
import { jobRecord } from '../answers/wire.ts'
import { bodySchema } from '../bodies/body.ts'
import {
  choice,
  offsetPaging,
  pageFrom,
  parsedText,
  queryParameters,
  text,
  wrongParameter,
} from '../bodies/query-parameters.ts'
import { resource } from '../openapi/operation.ts'
import type { RouteContext } from '../request/route-context.ts'
import { maybe, strict } from '../request/schema-words.ts'
import { type At, projectAt } from './place-finders.ts'

const ALL = '/api/jobs'
const ONE = `${ALL}/:job_id` as const
const SCHEDULES = '/api/projects/:project_name/jobs'
const ONE_SCHEDULE = `${SCHEDULES}/:job_name` as const

const FILTER = {
  kind: choice(JOB_KINDS, { description: 'Jobs of this kind' }),
  project: text({ description: 'Jobs of this project' }),
  knowledge_base: text({ description: 'Jobs of this knowledge base' }),
}
const OVER = queryParameters({
  state: choice(['done', 'failed', 'cancelled'], { description: 'Jobs in this state' }),
  ...FILTER,
})
const LIST = queryParameters({
  ids: parsedText({ description: 'Jobs with these ids: 3,4,7', charsMax: 4000 }, idsIn),
  state: choice(JOB_STATES, { description: 'Jobs in this state' }),
  ...FILTER,
  ...offsetPaging({ min: 0, isCut: true, description: 'Jobs per page, at most 1000' }),
})

const TEXT = maybe(t.String())
const CREATE = bodySchema(
  strict({
    job: strict({
      name: t.String(),
      query: t.String(),
      if_query: TEXT,
      start_at: TEXT,
      end_at: TEXT,
      schedule_str: TEXT,
    }),
  }),
)

/** What each does, by the last part of its path. */
const CHANGES = {
  cancel: 'Cancel a job',
  retry: 'Restart a failed or cancelled job',
  resume: 'Continue a failed or cancelled job after its last stored batch',
} as const

export const jobOperations = resource('Jobs', (api, context) => {
  const { jobsFor } = context.deps
  api.get(ALL, {
    id: 'listJobs',
    summary: 'List the jobs, newest first',
    query: LIST,
    answers: {
      200: [
        'items, total (all matching jobs), next (the offset of the next page, or null)',
        JOB_LIST,
      ],
    },
    run({ request, query: { ids, limit, offset, ...filter } }) {
      const found = jobsFound(context, request, filter).filter(({ id }) => ids?.has(id) ?? true)
      const { items, ...page } = pageFrom(found, { limit, offset })
      return { items: items.map(jobRecord), ...page }
    },
  })
  api.get(ONE, {
    id: 'getJob',
    summary: 'Get a job',
    answers: { 200: ['The job', JOB] },
    run: ({ principal, params }) => jobRecord(jobsFor(principal).get(idOf(params.job_id))),
  })
  api.get(`${ONE}/events`, {
    id: 'watchJob',
    summary: 'Watch a job',
    description: 'The job now and after each change, a few times per second, until it is over',
    produces: 'text/event-stream',
    answers: { 200: ['Chunks of data: {json}', JOB] },
    run({ principal, params, scope }) {
      const changes = jobsFor(principal).watch(idOf(params.job_id), scope.signal)
      return eventStream(recordsOf(changes), scope)
    },
  })
  api.delete(ALL, {
    id: 'deleteJobs',
    summary: 'Remove finished jobs from the list',
    description: 'Waiting and running jobs stay.',
    query: OVER,
    answers: { 200: ['How many were removed', DELETED_JOBS] },
    async run({ request, principal, query }) {
      const ids = jobsFound(context, request, query).map(({ id }) => id)
      return { deleted: await jobsFor(principal).removeOver(ids) }
    },
  })
  api.delete(ONE, {
    id: 'deleteJob',
    summary: 'Remove a finished job from the list',
    answers: { 409: 'The job is not finished' },
    run: ({ principal, params }) => jobsFor(principal).remove(idOf(params.job_id)),
  })
})

interface JobFilter {
  readonly state: Job['state'] | undefined
  readonly kind: Job['kind'] | undefined
  readonly project: string | undefined
  readonly knowledge_base: string | undefined
}

function jobsFound(context: RouteContext, request: Request, filter: JobFilter): readonly Job[] {
  const { state, kind, project, knowledge_base: knowledgeBase } = filter
  if (project !== undefined) requireProject(context.snapshotFor(request), project)
  const jobs = context.deps.jobsFor(context.scopeOf(request).principal).list()
  return jobs.filter((job) => {
    return (
      (state === undefined || job.state === state) &&
      (kind === undefined || job.kind === kind) &&
      (project === undefined || isSame(job.projectName, project)) &&
      (knowledgeBase === undefined || isSame(job.knowledgeBase ?? '', knowledgeBase))
    )
  })
}

/** @throws AppError `invalid_request` */
function idsIn(words: string, name: string): ReadonlySet<number> {
  if (!/^\d{1,15}(,\d{1,15})*$/.test(words)) {
    throw wrongParameter(name, 'must be ids of jobs, with commas between them')
  }
  return new Set(words.split(',').map(Number))
}

async function* recordsOf(changes: AsyncIterable<Job>) {
  for await (const job of changes) {
    yield jobRecord(job)
    if (isOver(job)) return
  }
}

/** @throws AppError `job_not_found` for what cannot be an id */
function idOf(sent: string): number {
  const id = /^\d{1,15}$/.test(sent) ? Number(sent) : 0
  if (id > 0) return id
  throw new AppError('job_not_found', 'There is no such job: ids of jobs are numbers')
}

function isSame(name: string, other: string): boolean {
  return nameKey(name) === nameKey(other)
}

export const jobChangeOperations = resource('Jobs', (api, { deps: { jobsFor } }) => {
  for (const change of ['cancel', 'retry', 'resume'] as const) {
    api.post(`${ONE}/${change}`, {
      id: `${change}Job`,
      summary: CHANGES[change],
      answers: { 200: ['The job', JOB], 409: 'Not possible in this state' },
      async run({ principal, params }) {
        return jobRecord(await jobsFor(principal)[change](idOf(params.job_id)))
      },
    })
  }
})

export const scheduleOperations = resource('Jobs', (api, { deps: { schedules } }) => {
  const scheduleAt = (place: At<'project_name' | 'job_name'>): StoredSchedule => {
    const { id: projectId } = projectAt(place)
    const { job_name: name } = place.params
    const found = schedules.store.list().find((one) => {
      return one.projectId === projectId && isSame(one.name, name)
    })
    if (found === undefined) throw notFound('schedule', name)
    return found
  }
  api.get(SCHEDULES, {
    id: 'listSchedules',
    summary: 'List the scheduled jobs of a project',
    find: projectAt,
    answers: { 200: ['The jobs', t.Array(SCHEDULE)] },
    run({ found: project }) {
      const own = schedules.store.list().filter(({ projectId }) => projectId === project.id)
      return own.map(scheduleRecord)
    },
  })
  api.post(SCHEDULES, {
    id: 'createSchedule',
    summary: 'Create a scheduled job',
    needs: 'admin',
    find: projectAt,
    body: CREATE,
    answers: { 201: ['The job', SCHEDULE], 409: 'The name is already in use' },
    async run({ found: project, body: { job } }) {
      const { name, query, if_query: ifQuery = null, schedule_str: every = null } = job
      const { start_at: start = null, end_at: end = null } = job
      const draft = { project, name, query, ifQuery, start, end, every }
      return scheduleRecord(await schedules.create(draft))
    },
  })
  api.get(ONE_SCHEDULE, {
    id: 'getSchedule',
    summary: 'Get a scheduled job',
    find: scheduleAt,
    answers: { 200: ['The job', SCHEDULE] },
    run: ({ found }) => scheduleRecord(found),
  })
  api.delete(ONE_SCHEDULE, {
    id: 'deleteSchedule',
    summary: 'Delete a scheduled job',
    description: 'A running run is cancelled; stored rows stay.',
    needs: 'admin',
    find: scheduleAt,
    run: ({ found }) => schedules.drop(found),
  })
  api.get(`${ONE_SCHEDULE}/history`, {
    id: 'listScheduleRuns',
    summary: 'List the runs of a scheduled job, newest first',
    find: scheduleAt,
    answers: { 200: ['The runs', t.Array(SCHEDULE_RUN)] },
    run: async ({ found: { id } }) => (await schedules.store.runs(id)).map(runRecord),
  })
})

export const scheduleRecord = recordOf<StoredSchedule>()(SCHEDULE, {
  project: (schedule) => schedule.projectName,
  query: (schedule) => withoutSecrets(schedule.query),
  if_query: ({ ifQuery }) => ifQuery && withoutSecrets(ifQuery),
  schedule_str: (schedule) => schedule.every,
  last: (schedule) => schedule.marks,
})

const runRecord = recordOf<ScheduleRun>()(SCHEDULE_RUN, {
  start_at: (run) => run.startedAt,
  end_at: (run) => run.endedAt,
})
