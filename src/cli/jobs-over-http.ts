/** Watches server jobs until they end. */

import type { JOB } from '../api/http/answers/records/catalog-schemas.ts'
import type { Wire } from '../api/http/request/schema-words.ts'
import { counted } from '../core/short-text.ts'
import type { Requesting } from './command.ts'
import { CommandError } from './command-error.ts'
import { connectionLost, eventsOf } from './http-client.ts'
import { type Output, ProgressLine } from './output.ts'
import { safeLine } from './terminal-text.ts'

export type JobRecord = Wire<typeof JOB>

const OVER: ReadonlySet<string> = new Set(['done', 'failed', 'cancelled'])

/** @throws CommandError `job_failed`, `job_cancelled`; the signal's reason: the job continues */
export async function watchJob(
  id: number,
  { client, output, signal }: Requesting,
): Promise<JobRecord> {
  const progress = new ProgressLine(output)
  let last: JobRecord | null = null
  try {
    // Reopens a broken stream, since the job continues without it.
    for (let attempt = 0; last === null || !OVER.has(last.state); attempt += 1) {
      if (attempt >= CONNECTIONS_MAX) throw connectionLost(client.address, null)
      const response = await client.open('GET', `/api/jobs/${id}/events`, { signal })
      try {
        for await (const event of eventsOf(response, client, signal)) {
          // The server's routes define the form of this record.
          last = event as JobRecord
          attempt = 0
          const text = `Job ${id} ${last.state}: ${progressText(last)}`
          progress.show(text, OVER.has(last.state))
        }
      } catch (error) {
        if (!(error instanceof CommandError) || error.code !== 'connection_lost') throw error
      }
    }
  } finally {
    progress.end()
  }
  return last
}

const CONNECTIONS_MAX = 5

/** @throws CommandError unless the job completed */
export function requireDone(job: JobRecord): void {
  const next = `eider jobs resume ${job.id} continues it`
  if (job.state === 'failed') {
    throw new CommandError('job_failed', `${job.error ?? 'The job failed'}; ${next}`)
  }
  if (job.state === 'cancelled') {
    throw new CommandError('job_cancelled', `Job ${job.id} was cancelled; ${next}`)
  }
}

const ERRORS_SHOWN = 20

/** Reports on stderr which items a job skipped. */
export function sayLeftOut({ id, errors, error_count: count }: JobRecord, output: Output): void {
  const shown = errors.slice(0, ERRORS_SHOWN)
  for (const { item, message } of shown) {
    output.say(`left out ${safeLine(item)}: ${safeLine(message)}`)
  }
  if (count > shown.length) {
    output.say(
      `left out ${count - shown.length} more: eider jobs show ${id} --json names ${errors.length}`,
    )
  }
}

export function progressText(job: JobRecord): string {
  const { rows, total, documents, chunks, rate, remaining_seconds: seconds } = job
  const embedded = job.embedded_chunks ?? 0
  const share =
    total === null || total === 0 ? '' : ` of ${total} (${Math.floor((100 * rows) / total)}%)`
  const parts = [
    share === '' ? counted(rows, 'row') : `${rows}${share} rows`,
    counted(documents, 'document'),
    counted(chunks, 'chunk'),
    ...(embedded > chunks ? [`${embedded} embedded`] : []),
    ...(rate === null ? [] : [`${rate < 10 ? rate.toFixed(1) : Math.round(rate)} rows/s`]),
    ...(seconds === null || OVER.has(job.state) ? [] : [`${durationText(seconds)} left`]),
    ...(job.error_count === 0 ? [] : [`${job.error_count} left out`]),
  ]
  return parts.join(', ')
}

export function durationText(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`
  if (seconds < 6000) return `${Math.ceil(seconds / 60)} min`
  return `${(seconds / 3600).toFixed(1)} h`
}
