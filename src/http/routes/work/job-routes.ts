import { requireProject } from '../../../domain/catalog-snapshot.ts'
import { isOver, JOB_KINDS, JOB_STATES, type Job } from '../../../domain/flow/job.ts'
import { nameKey } from '../../../domain/identifier.ts'
import { AppError } from '../../../errors.ts'
import { JOB, JOB_LIST } from '../../answers/records/catalog-schemas.ts'
import { streamedResponse } from '../../answers/streamed-response.ts'
import { jobRecord } from '../../answers/wire.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../../route-context.ts'

const ALL = '/api/jobs'
const ONE = '/api/jobs/:job_id'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 1000

const tag = 'Jobs'
const missing = { 404: 'No such job' }
const OPTIONS = `Query parameters: \`state\`, \`kind\`, \`project\`, \`knowledge_base\` keep those that have it; \`limit\` (100,
at most 1000) and \`offset\` give a part. The newest come first.`

export const addJobRoutes: AddRoutes = (app, context) => {
  const jobsOf = (request: Request) => context.deps.jobsFor(context.scopeOf(request).principal)
  app.get(
    ALL,
    ({ request }) => Response.json(listOf(context, request)),
    route({
      needs: 'read',
      id: 'listJobs',
      summary: 'List the jobs',
      description: OPTIONS,
      tag,
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

const PARAMETERS = ['state', 'kind', 'project', 'knowledge_base', 'limit', 'offset']

function listOf(context: RouteContext, request: Request) {
  const query = new URL(request.url).searchParams
  const unknown = [...query.keys()].find((name) => !PARAMETERS.includes(name))
  if (unknown !== undefined) {
    const known = PARAMETERS.join(', ')
    const message = `Unknown parameter "${unknown.slice(0, 100)}"; there are: ${known}`
    throw new AppError('unknown_field', message)
  }
  const state = oneOf(query, 'state', JOB_STATES)
  const kind = oneOf(query, 'kind', JOB_KINDS)
  const project = textOf(query, 'project')
  if (project !== null) requireProject(context.snapshotFor(request), project)
  const knowledgeBase = textOf(query, 'knowledge_base')
  const limit = numberOf(query, 'limit', LIMIT_DEFAULT, LIMIT_MAX)
  const offset = numberOf(query, 'offset', 0, Number.MAX_SAFE_INTEGER)
  const found = context.deps
    .jobsFor(context.scopeOf(request).principal)
    .list()
    .filter((job) => {
      return (
        (state === null || job.state === state) &&
        (kind === null || job.kind === kind) &&
        (project === null || isSame(job.projectName, project)) &&
        (knowledgeBase === null || isSame(job.knowledgeBase ?? '', knowledgeBase))
      )
    })
  const end = offset + limit
  return {
    items: found.slice(offset, end).map(jobRecord),
    total: found.length,
    next: end < found.length ? end : null,
  }
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
function idOf(text: string): number {
  const id = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (id > 0) return id
  throw new AppError('job_not_found', 'There is no such job: ids of jobs are numbers')
}

function isSame(name: string, other: string): boolean {
  return nameKey(name) === nameKey(other)
}

function textOf(query: URLSearchParams, name: string): string | null {
  return query.get(name) || null
}

function oneOf<T extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly T[],
): T | null {
  const text = textOf(query, name)
  if (text === null) return null
  const found = values.find((value) => value === text)
  if (found !== undefined) return found
  throw new AppError('invalid_request', `${name} must be one of ${values.join(', ')}`)
}

function numberOf(query: URLSearchParams, name: string, unset: number, max: number): number {
  const text = textOf(query, name)
  if (text === null) return unset
  const number = /^\d{1,15}$/.test(text) ? Number(text) : -1
  if (number >= 0) return Math.min(number, max)
  throw new AppError('invalid_request', `${name} must be a whole number from 0 on`)
}
