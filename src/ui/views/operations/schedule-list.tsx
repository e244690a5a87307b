/** Jobs that run by themselves, of all projects, with how the last run of each ended. */
import { useState } from 'preact/hooks'
import { path, request } from '../../api/request.ts'
import { mayRunServer } from '../../api/session.ts'
import { runSql } from '../../api/sql.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { shownAge, shownTime } from '../../format/numbers.ts'

const ASK_AGAIN_MS = 15_000

/** Of all projects at once, however many there are. */
const SCHEDULES = `SELECT j.PROJECT, j.NAME, j.QUERY, j.SCHEDULE_STR, j.NEXT_RUN_AT, h.STATE, h.ERROR, h.STARTED
  FROM information_schema.jobs j LEFT JOIN (
    SELECT PROJECT, NAME, arg_max(STATE, RUN_START) AS STATE, arg_max(ERROR, RUN_START) AS ERROR,
      max(RUN_START) AS STARTED
    FROM information_schema.jobs_history GROUP BY PROJECT, NAME
  ) h ON h.PROJECT = j.PROJECT AND h.NAME = j.NAME
  ORDER BY j.PROJECT, j.NAME`

interface ShownSchedule {
  readonly project: string
  readonly name: string
  readonly query: string
  /** null: it runs once. */
  readonly every: string | null
  readonly nextAt: string | null
  /** Of its last run; null: there was none. */
  readonly state: string | null
  readonly error: string | null
  readonly ranAt: string | null
}

async function loadSchedules(signal: AbortSignal): Promise<readonly ShownSchedule[]> {
  const { rows } = await runSql({ sql: SCHEDULES, signal })
  return rows.map((row) => {
    const [project, name, query, every, nextAt, state, error, ranAt] = row.map(textOf)
    return {
      ...{ project: project ?? '', name: name ?? '', query: query ?? '', every: every ?? null },
      ...{ nextAt: nextAt ?? null, state: state ?? null, error: error ?? null },
      ranAt: ranAt ?? null,
    }
  })
}

function textOf(cell: unknown): string | null {
  return cell === null ? null : String(cell)
}

export function ScheduleList() {
  const schedules = useResource(loadSchedules, [])
  usePolling(schedules.reload, ASK_AGAIN_MS)
  const [dropped, setDropped] = useState<ShownSchedule>()
  return (
    <section class="stack" aria-labelledby="operations-schedules">
      <h2 id="operations-schedules">Scheduled jobs</h2>
      <Loaded of={schedules} what="the scheduled jobs">
        {(items) =>
          items.length === 0 ? (
            <p class="quiet">
              None yet. Create one in SQL, with <a href="/docs/jobs">CREATE JOB</a>.
            </p>
          ) : (
            <ul class="operations-list">
              {items.map((one) => (
                <Row key={`${one.project}.${one.name}`} of={one} onDelete={() => setDropped(one)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {dropped && (
        <ConfirmDialog
          title={`Delete ${dropped.name}?`}
          verb="Delete"
          onClose={() => setDropped(undefined)}
          onConfirm={async () => {
            const address = path`/api/projects/${dropped.project}/jobs/${dropped.name}`
            await request(address, { method: 'DELETE' })
            schedules.reload()
          }}
        >
          <p>It no longer runs. What it stored stays.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}

const LOOKS: Readonly<Record<string, string>> = {
  ...{ done: 'good', failed: 'bad', running: 'accent', cancelled: 'warn' },
}

interface RowProps {
  readonly of: ShownSchedule
  readonly onDelete: () => void
}

function Row({ of: schedule, onDelete }: RowProps) {
  const { project, name, query, every, nextAt, state, error, ranAt } = schedule
  const now = Date.now()
  return (
    <li class="panel operations-job">
      <div class="row">
        <strong class="grow" dir="auto">
          {project}.{name}
        </strong>
        {state !== null && <span class={`badge ${LOOKS[state] ?? ''}`}>Last run: {state}</span>}
        {mayRunServer() && (
          <Button look="small" label="Delete" aria-label={`Delete ${name}`} onClick={onDelete} />
        )}
      </div>
      <code class="pre" dir="auto">
        {query}
      </code>
      <p class="small quiet">
        {every === null ? 'Once' : `Every ${every}`} ·{' '}
        {nextAt === null ? 'no longer runs' : `next ${shownTime(nextAt)}`} ·{' '}
        {ranAt === null ? 'has not run yet' : `ran ${shownAge(ranAt, now)}`}
      </p>
      {error !== null && (
        <p class="small pre bad" dir="auto">
          {error}
        </p>
      )}
    </li>
  )
}
