/** Jobs are background work. Schedules are included, because their runs are jobs. */
import { t } from 'elysia'
import { requireProject } from '../../../core/domain/access/catalog-snapshot.ts'
import { isOver, JOB_KINDS, JOB_STATES, type Job } from '../../../core/domain/flow/job.ts'
import type { ScheduleRun, StoredSchedule } from '../../../core/domain/flow/sync-source.ts'
import { nameKey } from '../../../core/domain/names.ts'
import { AppError, notFound } from '../../../core/errors.ts'
import { withoutSecrets } from '../../../core/text/shown-statement.ts'
import { recordOf } from '../answers/record-of.ts'
import {
  DELETED_JOBS,
  JOB,
  JOB_LIST,
  SCHEDULE,
  SCHEDULE_RUN,
} from '../answers/records/catalog-schemas.ts'
import { eventStream } from '../answers/streamed-response.ts'
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
import type { RouteContext } from '../request/route-context.ts'
import { maybe, strict } from '../request/schema-words.ts'
import { type Place, projectAt, resource } from './operation.ts'

const JOBS_PATH = '/api/jobs'
const JOB_PATH = `${JOBS_PATH}/:job_id` as const
const SCHEDULES_PATH = '/api/projects/:project_name/jobs'
const SCHEDULE_PATH = `${SCHEDULES_PATH}/:job_name` as const

const FILTER = {
  kind: choice(JOB_KINDS, { description: 'Jobs of this kind' }),
  project: text({ description: 'Jobs of this project' }),
  knowledge_base: text({ description: 'Jobs of this knowledge base' }),
}
const OVER = queryParameters({
  state: choice(['done', 'failed', 'cancelled'], { description: 'Jobs in this state' }),
  ...FILTER,
})
const JOBS_QUERY = queryParameters({
  ids: parsedText({ description: 'Jobs with these ids: 3,4,7', charsMax: 4000 }, idsIn),
  state: choice(JOB_STATES, { description: 'Jobs in this state' }),
  ...FILTER,
  ...offsetPaging({ min: 0, isCut: true, description: 'Jobs per page, at most 1000' }),
})

const OPTIONAL_TEXT = maybe(t.String())
const NEW_SCHEDULE = bodySchema(
  strict({
    job: strict({
      name: t.String(),
      query: t.String(),
      if_query: OPTIONAL_TEXT,
      start_at: OPTIONAL_TEXT,
      end_at: OPTIONAL_TEXT,
      schedule_str: OPTIONAL_TEXT,
    }),
  }),
)

/** The job actions, by the last segment of the path. */
const CHANGES = {
  cancel: 'Cancel a job',
  retry: 'Restart a failed or cancelled job',
  resume: 'Continue a failed or cancelled job after its last stored batch',
} as const

export const jobOperations = resource('Jobs', (api, context) => {
  const { jobsFor } = context.deps
  api.get(JOBS_PATH, {
    id: 'listJobs',
    summary: 'List the jobs, newest first',
    query: JOBS_QUERY,
    answers: {
      200: [
        '`items`, `total` (all matching jobs), and `next`: the offset of the next page, or null',
        JOB_LIST,
      ],
    },
    run({ request, query: { ids, limit, offset, ...filter } }) {
      const found = jobsFound(context, request, filter).filter(({ id }) => ids?.has(id) ?? true)
      const { items, ...page } = pageFrom(found, { limit, offset })
      return { items: items.map(jobRecord), ...page }
    },
  })
  api.get(JOB_PATH, {
    id: 'getJob',
    summary: 'Get a job',
    answers: { 200: ['The job', JOB] },
    run: ({ principal, params }) => jobRecord(jobsFor(principal).get(jobId(params.job_id))),
  })
  api.get(`${JOB_PATH}/events`, {
    id: 'watchJob',
    summary: 'Stream a job’s progress',
    description:
      'Sends the job now and after each change, up to a few times per second, until it ends.',
    produces: 'text/event-stream',
    answers: { 200: ['Server-sent events: `data: {json}`', JOB] },
    run({ principal, params, scope }) {
      const changes = jobsFor(principal).watch(jobId(params.job_id), scope.signal)
      return eventStream(recordsOf(changes), scope)
    },
  })
  api.delete(JOBS_PATH, {
    id: 'deleteJobs',
    summary: 'Remove finished jobs from the list',
    description: 'Waiting and running jobs are kept.',
    query: OVER,
    answers: { 200: ['Number of jobs removed', DELETED_JOBS] },
    async run({ request, principal, query }) {
      const ids = jobsFound(context, request, query).map(({ id }) => id)
      return { deleted: await jobsFor(principal).removeOver(ids) }
    },
  })
  api.delete(JOB_PATH, {
    id: 'deleteJob',
    summary: 'Remove a finished job from the list',
    answers: { 409: 'The job is not finished' },
    run: ({ principal, params }) => jobsFor(principal).remove(jobId(params.job_id)),
  })
})

function jobsFound(
  context: RouteContext,
  request: Request,
  filter: Omit<ReturnType<typeof JOBS_QUERY.read>, 'ids' | 'limit' | 'offset'>,
): readonly Job[] {
  const { state, kind, project, knowledge_base: knowledgeBase } = filter
  if (project !== undefined) requireProject(context.snapshotFor(request), project)
  const jobs = context.deps.jobsFor(context.scopeOf(request).principal).list()
  return jobs.filter((job) => {
    return (
      (state === undefined || job.state === state) &&
      (kind === undefined || job.kind === kind) &&
      (project === undefined || isSameJob(job.projectName, project)) &&
      (knowledgeBase === undefined || isSameJob(job.knowledgeBase ?? '', knowledgeBase))
    )
  })
}

/** @throws AppError `invalid_request` */
function idsIn(words: string, name: string): ReadonlySet<number> {
  if (!/^\d{1,15}(,\d{1,15})*$/.test(words)) {
    throw wrongParameter(name, 'must be job ids, separated by commas')
  }
  return new Set(words.split(',').map(Number))
}

async function* recordsOf(changes: AsyncIterable<Job>) {
  for await (const job of changes) {
    yield jobRecord(job)
    if (isOver(job)) return
  }
}

/** @throws AppError `job_not_found` for an invalid id */
function jobId(sent: string): number {
  const id = /^\d{1,15}$/.test(sent) ? Number(sent) : 0
  if (id > 0) return id
  throw new AppError('job_not_found', 'Job ids are numbers; there is no job with this id')
}

function isSameJob(name: string, other: string): boolean {
  return nameKey(name) === nameKey(other)
}

export const jobChangeOperations = resource('Jobs', (api, { deps: { jobsFor } }) => {
  for (const change of ['cancel', 'retry', 'resume'] as const) {
    api.post(`${JOB_PATH}/${change}`, {
      id: `${change}Job`,
      summary: CHANGES[change],
      answers: { 200: ['The job', JOB], 409: 'The job’s state does not allow this' },
      async run({ principal, params }) {
        return jobRecord(await jobsFor(principal)[change](jobId(params.job_id)))
      },
    })
  }
})

export const scheduleOperations = resource('Jobs', (api, { deps: { schedulesFor } }) => {
  const scheduleAt = (
    place: Place<Record<'project_name' | 'job_name', string>>,
  ): StoredSchedule => {
    const { id: projectId } = projectAt(place)
    const { job_name: name } = place.params
    const found = schedulesFor(place.principal)
      .store.list()
      .find((one) => {
        return one.projectId === projectId && isSameJob(one.name, name)
      })
    if (found === undefined) throw notFound('schedule', name)
    return found
  }
  api.get(SCHEDULES_PATH, {
    id: 'listSchedules',
    summary: 'List the scheduled jobs of a project',
    find: projectAt,
    answers: { 200: ['The jobs', t.Array(SCHEDULE)] },
    run({ found: project, principal }) {
      const own = schedulesFor(principal)
        .store.list()
        .filter(({ projectId }) => projectId === project.id)
      return own.map(scheduleRecord)
    },
  })
  api.post(SCHEDULES_PATH, {
    id: 'createSchedule',
    summary: 'Create a scheduled job',
    needs: 'admin',
    find: projectAt,
    body: NEW_SCHEDULE,
    answers: { 201: ['The job', SCHEDULE], 409: 'The name is already in use' },
    async run({ found: project, body: { job }, principal }) {
      const { name, query, if_query: ifQuery = null, schedule_str: every = null } = job
      const { start_at: start = null, end_at: end = null } = job
      const draft = { project, name, query, ifQuery, start, end, every }
      return scheduleRecord(await schedulesFor(principal).create(draft))
    },
  })
  api.get(SCHEDULE_PATH, {
    id: 'getSchedule',
    summary: 'Get a scheduled job',
    find: scheduleAt,
    answers: { 200: ['The job', SCHEDULE] },
    run: ({ found }) => scheduleRecord(found),
  })
  api.delete(SCHEDULE_PATH, {
    id: 'deleteSchedule',
    summary: 'Delete a scheduled job',
    description: 'Cancels the current run. Stored rows are kept.',
    needs: 'admin',
    find: scheduleAt,
    run: ({ found, principal }) => schedulesFor(principal).drop(found),
  })
  api.get(`${SCHEDULE_PATH}/history`, {
    id: 'listScheduleRuns',
    summary: 'List the runs of a scheduled job, newest first',
    find: scheduleAt,
    answers: { 200: ['The runs', t.Array(SCHEDULE_RUN)] },
    run: async ({ found: { id }, principal }) => {
      return (await schedulesFor(principal).store.runs(id)).map(runRecord)
    },
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
