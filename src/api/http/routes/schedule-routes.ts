/** Jobs that run by themselves. What a run does is seen under /api/jobs. */

import { t } from 'elysia'
import { requireProject } from '../../../core/domain/access/catalog-snapshot.ts'
import type { ScheduleRun, StoredSchedule } from '../../../core/domain/flow/schedule.ts'
import { withoutSecrets } from '../../../core/domain/flow/source-parameters.ts'
import { nameKey } from '../../../core/domain/identifier.ts'
import { notFound } from '../../../core/errors.ts'
import { SCHEDULE, SCHEDULE_RUN } from '../answers/records/catalog-schemas.ts'
import { bodySchema, readJson } from '../bodies/body.ts'
import { route } from '../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../request/route-context.ts'

const ALL = '/api/projects/:project_name/jobs'
const ONE = `${ALL}/:job_name`

const TEXT = t.Optional(t.Union([t.String(), t.Null()]))
const CREATE = bodySchema(
  t.Object(
    {
      job: t.Object(
        {
          name: t.String(),
          query: t.String(),
          if_query: TEXT,
          start_at: TEXT,
          end_at: TEXT,
          schedule_str: TEXT,
        },
        { additionalProperties: false },
      ),
    },
    { additionalProperties: false },
  ),
)

const tag = 'Jobs'
const missing = { 404: 'No such project or job' }

export const addScheduleRoutes: AddRoutes = (app, context) => {
  const { schedules } = context.deps
  app.get(
    ALL,
    ({ params }) => {
      const project = requireProject(context.snapshot(), params.project_name)
      const own = schedules.store.list().filter(({ projectId }) => projectId === project.id)
      return Response.json(own.map(scheduleRecord))
    },
    route({
      needs: 'read',
      id: 'listSchedules',
      summary: 'List the jobs of a project that run by themselves',
      tag,
      answers: {
        200: { description: 'The jobs', schema: t.Array(SCHEDULE) },
        404: 'No such project',
      },
    }),
  )
  app.post(
    ALL,
    async ({ request, params }) => {
      const { job } = await readJson(context, request, CREATE)
      const created = await schedules.create({
        project: requireProject(context.snapshot(), params.project_name),
        name: job.name,
        query: job.query,
        ifQuery: job.if_query ?? null,
        start: job.start_at ?? null,
        end: job.end_at ?? null,
        every: job.schedule_str ?? null,
      })
      return Response.json(scheduleRecord(created), { status: 201 })
    },
    route({
      needs: 'admin',
      id: 'createSchedule',
      summary: 'Create a job that runs by itself',
      tag,
      body: CREATE,
      answers: {
        201: { description: 'The job', schema: SCHEDULE },
        ...missing,
        409: 'The name is already in use',
      },
    }),
  )
  app.get(
    ONE,
    ({ params }) => Response.json(scheduleRecord(scheduleOf(context, params))),
    route({
      needs: 'read',
      id: 'getSchedule',
      summary: 'Get a job that runs by itself',
      tag,
      answers: { 200: { description: 'The job', schema: SCHEDULE }, ...missing },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      await schedules.drop(scheduleOf(context, params))
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'admin',
      id: 'deleteSchedule',
      summary: 'Delete a job that runs by itself',
      description: 'A run that is at work is cancelled. What it stored stays.',
      tag,
      answers: { 204: 'Deleted', ...missing },
    }),
  )
  app.get(
    `${ONE}/history`,
    async ({ params }) => {
      const { id } = scheduleOf(context, params)
      return Response.json((await schedules.store.runs(id)).map(runRecord))
    },
    route({
      needs: 'read',
      id: 'listScheduleRuns',
      summary: 'List the runs of a job, the newest first',
      tag,
      answers: { 200: { description: 'The runs', schema: t.Array(SCHEDULE_RUN) }, ...missing },
    }),
  )
}

function scheduleOf(
  context: RouteContext,
  params: { readonly project_name: string; readonly job_name: string },
): StoredSchedule {
  const project = requireProject(context.snapshot(), params.project_name)
  const key = nameKey(params.job_name)
  const found = context.deps.schedules.store.list().find((one) => {
    return one.projectId === project.id && nameKey(one.name) === key
  })
  if (found === undefined) throw notFound('schedule', params.job_name)
  return found
}

export function scheduleRecord(schedule: StoredSchedule) {
  const { id, name, projectName, query, ifQuery } = schedule
  return {
    id,
    name,
    project: projectName,
    query: withoutSecrets(query),
    if_query: ifQuery === null ? null : withoutSecrets(ifQuery),
    start_at: schedule.startAt,
    end_at: schedule.endAt,
    next_run_at: schedule.nextRunAt,
    schedule_str: schedule.every,
    last: schedule.marks,
    created_at: schedule.createdAt,
  }
}

function runRecord(run: ScheduleRun) {
  return {
    id: run.id,
    job_id: run.jobId,
    start_at: run.startedAt,
    end_at: run.endedAt,
    state: run.state,
    error: run.error,
  }
}
