/** Shows a job: its progress, rate, remaining time, skipped items and buttons. */

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isOver } from '../../core/domain/flow/job.ts'
import { addressOfJob } from '../api/jobs.ts'
import type { Job } from '../api/records.ts'
import { ApiError, asError, request } from '../api/request.ts'
import { may } from '../api/session.ts'
import { ActionButton } from './dialog.tsx'
import { Failure, Progress } from './failure.tsx'
import { counted, shownCount, shownDuration, timeOf } from './numbers.ts'
import { usePolling } from './resource.ts'

interface JobProgressProps {
  /** The last known state. */
  readonly job: Job
  /** Called once if the job ends while it is shown. */
  readonly onOver?: ((job: Job) => void) | undefined
  /** Called after a button has changed the job. */
  readonly onChanged?: () => void
  /** If false, `job` is shown as it is, because the surrounding list polls all jobs itself. */
  readonly isWatched?: boolean
  /** Shown before the numbers. */
  readonly about?: string
  readonly children?: ComponentChildren
}

export function JobProgress(props: JobProgressProps) {
  const { about, children } = props
  const { job, failure, look, change } = useJob(props)
  if (failure) return <Failure error={failure} onRetry={look} />
  const words = [about, wordsOf(job)].filter(Boolean).join(' · ')
  const mayChange = may('write')
  const canEnd = job.state === 'queued' || job.state === 'running'
  const canGoOn = job.state === 'failed' || job.state === 'cancelled'
  return (
    // Not a landmark, because several jobs may have the same title.
    <article class="list" aria-label={job.title}>
      <div class="row">
        <strong class="grow">{job.title}</strong>
        <JobState state={job.state} />
        {mayChange && canEnd && (
          <ActionButton look="small" icon="stop" label="Cancel" work={() => change('cancel')} />
        )}
        {mayChange && canGoOn && (
          <>
            <ActionButton
              look="small"
              icon="play"
              label="Continue"
              title="Continues after the last stored batch"
              work={() => change('resume')}
            />
            <ActionButton
              look="small"
              label="Start over"
              title="Starts from the beginning; nothing is stored twice"
              work={() => change('retry')}
            />
          </>
        )}
        {children}
      </div>
      {canEnd ? (
        <Progress
          label={words}
          done={job.state === 'running' ? job.rows : undefined}
          total={job.total}
        />
      ) : (
        <p class="small quiet">{words}</p>
      )}
      {job.error !== null && (
        <p class={`small pre ${job.state === 'failed' ? 'bad' : ''}`}>{job.error}</p>
      )}
      <LeftOut job={job} />
    </article>
  )
}

export const JOB_STATES = {
  queued: { words: 'Waiting', look: '' },
  running: { words: 'Running', look: 'accent' },
  done: { words: 'Done', look: 'good' },
  failed: { words: 'Failed', look: 'bad' },
  cancelled: { words: 'Cancelled', look: 'warn' },
} as const

export function JobState({ state }: { readonly state: Job['state'] }) {
  const { words, look } = JOB_STATES[state]
  return <span class={`badge ${look}`}>{words}</span>
}

/** What `rows` counts for each kind of job, if not rows. */
const COUNTED: Partial<Record<Job['kind'], string>> = { rechunk: 'document', move: 'chunk' }

/** `1,200 of 5,000 rows · 1,200 documents · 1,312 chunks · 240 a second · 5.0 s so far`. */
export function wordsOf(job: Job): string {
  const isGoing = job.state === 'running'
  // Re-chunking need not change the chunks of every document.
  const isRechunk = job.kind === 'rechunk'
  const isMove = job.kind === 'move'
  const embedded = job.embedded_chunks ?? 0
  const row = COUNTED[job.kind] ?? 'row'
  const rows =
    job.total === null
      ? counted(job.rows, row)
      : `${shownCount(job.rows)} of ${counted(job.total, row)}`
  return [
    job.state === 'queued' ? 'Waiting to start' : rows,
    isRechunk ? `${shownCount(job.documents)} re-chunked` : '',
    isRechunk || isMove ? '' : counted(job.documents, 'document'),
    isMove ? '' : counted(job.chunks, isRechunk ? 'new chunk' : 'chunk'),
    embedded > job.chunks ? `${shownCount(embedded)} embedded` : '',
    isGoing && job.rate !== null ? `${shownCount(Math.round(job.rate * 10) / 10)} a second` : '',
    durationOf(job),
    isGoing && job.remaining_seconds !== null
      ? `${shownDuration(job.remaining_seconds * 1000)} left`
      : '',
  ]
    .filter((words) => words !== '')
    .join(' · ')
}

function durationOf({ state, started_at: begin, finished_at: end }: Job): string {
  if (begin === null) return ''
  const endMs = end === null ? Date.now() : timeOf(end).getTime()
  const ms = Math.max(0, endMs - timeOf(begin).getTime())
  if (state === 'running') return `${shownDuration(ms)} so far`
  return state === 'done' ? `took ${shownDuration(ms)}` : ''
}

export function LeftOut({ job }: { readonly job: Job }) {
  const { errors, error_count: count } = job
  if (count === 0) return null
  // If nothing was stored, only the reasons are shown.
  const isAll = isOver(job) && job.documents === 0
  return (
    <details open={isAll}>
      <summary class="small bad">{counted(count, 'item')} left out</summary>
      <ul class="job-errors small">
        {errors.map(({ item, message }, index) => (
          <li key={`${index} ${item}`}>
            <strong>{item}</strong>: <bdi>{message}</bdi>
          </li>
        ))}
        {errors.length < count && (
          <li class="quiet">and {shownCount(count - errors.length)} more</li>
        )}
      </ul>
    </details>
  )
}

/** The state of a job, read again until it is over. */
function useJob({ job: known, onOver, onChanged, isWatched = true }: JobProgressProps) {
  const [job, setJob] = useState(known)
  const [failure, setFailure] = useState<Error>()
  const isAsking = useRef(false)
  const show = (next: Job) => {
    setFailure(undefined)
    setJob(next)
    if (isOver(next)) onOver?.(next)
  }
  useEffect(() => setJob(known), [known])
  const look = async () => {
    isAsking.current = true
    try {
      show(await request<Job>(addressOfJob(known.id)))
    } catch (error) {
      // It goes on when the server is back.
      if (!(error instanceof ApiError && error.code === 'unreachable')) setFailure(asError(error))
    }
    isAsking.current = false
  }
  // Renders again to update the elapsed time.
  const [, setTick] = useState(0)
  usePolling(() => {
    if (isOver(job) || failure !== undefined) return
    setTick((before) => before + 1)
    if (isWatched && !isAsking.current) void look()
  }, 'soon')
  const change = async (how: 'cancel' | 'retry' | 'resume') => {
    show(await request<Job>(`${addressOfJob(known.id)}/${how}`, { method: 'POST' }))
    onChanged?.()
  }
  return { job, failure, look, change }
}
