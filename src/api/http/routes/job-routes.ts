import { requireProject } from '../../../core/domain/access/catalog-snapshot.ts'
import { isOver, JOB_KINDS, JOB_STATES, type Job } from '../../../core/domain/flow/job.ts'
import { nameKey } from '../../../core/domain/identifier.ts'
import { AppError } from '../../../core/errors.ts'
import { DELETED_JOBS, JOB, JOB_LIST } from '../answers/records/catalog-schemas.ts'
import { streamedResponse } from '../answers/streamed-response.ts'
import { jobRecord } from '../answers/wire.ts'
import {
  choice,
  parsedText,
  queryParameters,
  text,
  wholeNumber,
  wrongParameter,
} from '../bodies/query-parameters.ts'
import { route } from '../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../request/route-context.ts'

const ALL = '/api/jobs'
const ONE = '/api/jobs/:job_id'

const tag = 'Jobs'
const missing = { 404: 'No such job' }
const FILTER = {
  kind: choice(JOB_KINDS, { description: 'Those of a kind' }),
  project: text({ description: 'Those of a project' }),
  knowledge_base: text({ description: 'Those of a knowledge base' }),
}
const OVER = queryParameters({
  state: choice(['done', 'failed', 'cancelled'], { description: 'Those in a state' }),
  ...FILTER,
})
const LIST = queryParameters({
  ids: parsedText({ description: 'Those with these ids: 3,4,7', charsMax: 4000 }, idsIn),
  state: choice(JOB_STATES, { description: 'Those in a state' }),
  ...FILTER,
  limit: wholeNumber({
    min: 0,
    max: 1000,
    isCut: true,
    unset: 100,
    description: 'Jobs of a page; at most 1000 come',
  }),
  offset: wholeNumber({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    isCut: true,
    unset: 0,
    description: 'Leaves out so many: `next` of the page before',
  }),
})

export const addJobRoutes: AddRoutes = (app, context) => {
  const jobsOf = (request: Request) => context.deps.jobsFor(context.scopeOf(request).principal)
  app.get(
    ALL,
    ({ request }) => Response.json(listOf(context, request)),
    route({
      needs: 'read',
      id: 'listJobs',
      summary: 'List the jobs, the newest first',
      tag,
      query: LIST,
      answers: {
        200: {
          description:
            'items, total (of all that were found), next (the offset of the rest, or null)',
          schema: JOB_LIST,
        },
      },
    }),
  )
  app.get(
    ONE,
    ({ request, params }) => {
      return Response.json(jobRecord(jobsOf(request).get(idOf(params.job_id))))
    },
    route({
      needs: 'read',
      id: 'getJob',
      summary: 'Get a job',
      tag,
      answers: { 200: { description: 'The job', schema: JOB }, ...missing },
    }),
  )
  app.get(
    `${ONE}/events`,
    ({ request, params }) => {
      const id = idOf(params.job_id)
      const scope = context.scopeOf(request)
      const pieces = eventsOf(jobsOf(request).watch(id, scope.signal))
      const keepAlive = { text: ': keep-alive\n\n' }
      return streamedResponse(pieces, { scope, headers: HEADERS, keepAlive })
    },
    route({
      needs: 'read',
      id: 'watchJob',
      summary: 'Watch a job',
      description:
        'The job now and after its changes, some times a second at most, until it is over',
      tag,
      answers: { 200: { description: 'Chunks of data: {json}', schema: JOB }, ...missing },
      produces: 'text/event-stream',
    }),
  )
  addChangeRoutes(app, context)
}

/** What each does, by the last part of its path. */
const CHANGES = {
  cancel: 'End a job after the batch that is being stored',
  retry: 'Begin a job again that failed or was cancelled',
  resume: 'Go on with a job that failed or was cancelled, from the last batch that was stored',
} as const

const addChangeRoutes: AddRoutes = (app, context) => {
  const jobsOf = (request: Request) => context.deps.jobsFor(context.scopeOf(request).principal)
  for (const change of ['cancel', 'retry', 'resume'] as const) {
    app.post(
      `${ONE}/${change}`,
      async ({ request, params }) => {
        return Response.json(jobRecord(await jobsOf(request)[change](idOf(params.job_id))))
      },
      route({
        needs: 'write',
        id: `${change}Job`,
        summary: CHANGES[change],
        tag,
        answers: {
          200: { description: 'The job', schema: JOB },
          ...missing,
          409: 'Not in this state',
        },
      }),
    )
  }
  app.delete(
    ALL,
    async ({ request }) => {
      const ids = jobsFound(context, request, OVER.read(request)).map(({ id }) => id)
      return Response.json({ deleted: await jobsOf(request).removeOver(ids) })
    },
    route({
      needs: 'write',
      id: 'deleteJobs',
      summary: 'Forget the jobs that are over',
      description: 'Those that wait or run stay.',
      tag,
      query: OVER,
      answers: { 200: { description: 'How many were forgotten', schema: DELETED_JOBS } },
    }),
  )
  app.delete(
    ONE,
    async ({ request, params }) => {
      await jobsOf(request).remove(idOf(params.job_id))
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'write',
      id: 'deleteJob',
      summary: 'Forget a job that is over',
      tag,
      answers: { 204: 'Forgotten', ...missing, 409: 'It is not over' },
    }),
  )
}

function listOf(context: RouteContext, request: Request) {
  const { ids, limit, offset, ...filter } = LIST.read(request)
  const found = jobsFound(context, request, filter).filter(({ id }) => ids?.has(id) ?? true)
  const end = offset + limit
  return {
    items: found.slice(offset, end).map(jobRecord),
    total: found.length,
    next: end < found.length ? end : null,
  }
}

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

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

async function* eventsOf(changes: AsyncIterable<Job>): AsyncGenerator<string> {
  for await (const job of changes) {
    yield `data: ${JSON.stringify(jobRecord(job))}\n\n`
    if (isOver(job)) return
  }
}

/** @throws AppError `job_not_found` for what is no id at all */
function idOf(sent: string): number {
  const id = /^\d{1,15}$/.test(sent) ? Number(sent) : 0
  if (id > 0) return id
  throw new AppError('job_not_found', 'There is no such job: ids of jobs are numbers')
}

function isSame(name: string, other: string): boolean {
  return nameKey(name) === nameKey(other)
}
