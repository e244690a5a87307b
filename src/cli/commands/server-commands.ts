/** Commands that send one request and print the answer: status, backups and jobs. */

import type { BACKUP, JOB_LIST } from '../../api/http/answers/records/catalog-schemas.ts'
import type { STATUS } from '../../api/http/answers/records/server-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import { counted } from '../../core/short-text.ts'
import type { CommandContext, RunCommand } from '../command.ts'
import { usageError } from '../command-error.ts'
import {
  type JobRecord,
  progressText,
  requireDone,
  sayLeftOut,
  watchJob,
} from '../jobs-over-http.ts'
import { sizeText } from '../output.ts'
import { safeLine } from '../terminal-text.ts'
import { actionOf, show, shownLines } from './record-output.ts'

type ServerStatus = Wire<typeof STATUS>

export const status: RunCommand = async ({ client, output, signal }) => {
  const found = await client.send<ServerStatus>('GET', '/api/status', { signal })
  const head = `Eider ${found.eider_version} at ${client.address}`
  return show(output, found, () => [head, ...shownLines(found)])
}

type BackupRecord = Wire<typeof BACKUP>

export const backup: RunCommand = async ({ client, output, signal }) => {
  output.say('The server is making a backup …')
  const made = await client.send<BackupRecord>('POST', '/api/backup', { signal })
  return show(output, made, () => [backupLine(made)])
}

export const backups: RunCommand = async ({ client, output, signal }) => {
  const all = await client.send<readonly BackupRecord[]>('GET', '/api/backups', { signal })
  const none = 'There are no backups; "eider backup" makes one'
  return show(output, all, () => (all.length === 0 ? [none] : all.map(backupLine)))
}

function backupLine({ name, size_bytes: bytes, created_at: at, row_count: rows }: BackupRecord) {
  return `${safeLine(name)}  ${at.slice(0, 19)} UTC  ${sizeText(bytes)}  ${counted(rows, 'row')}`
}

const CHANGES = ['cancel', 'retry', 'resume'] as const
const JOB_ACTIONS = ['list', 'show', 'watch', ...CHANGES, 'forget'] as const
const ERRORS_SHOWN = 20

export const jobs: RunCommand = async (context) => {
  const [word = 'list', id] = context.words
  const action = actionOf('jobs', word, JOB_ACTIONS)
  if (action === 'list') return listJobs(context)
  if (id === undefined || !/^\d+$/.test(id)) {
    throw usageError(`jobs ${action} needs a job number; "eider jobs" lists them`)
  }
  const { client, output, signal } = context
  if (action === 'show') {
    const job = await client.send<JobRecord>('GET', `/api/jobs/${id}`, { signal })
    return show(output, job, () => jobLines(job))
  }
  const number = Number(id)
  if (action === 'forget') {
    await client.send('DELETE', `/api/jobs/${number}`, { signal })
    return show(
      output,
      { id: number, forgotten: true },
      () => `Job ${number} is removed from the list`,
    )
  }
  return changeJob(action, number, context)
}

async function listJobs({ client, options, output, signal }: CommandContext) {
  const query = options.asQuery(['state', 'kind', 'project', 'limit']).toString()
  const path = query === '' ? '/api/jobs' : `/api/jobs?${query}`
  const found = await client.send<Wire<typeof JOB_LIST>>('GET', path, { signal })
  const { items, total } = found
  await show(output, found, () => {
    if (items.length === 0) return 'There are no jobs'
    const names = ['id', 'kind', 'state', 'into', 'title', 'rows', 'chunks', 'created (UTC)']
    const rows = items.map((job) => {
      const target = job.knowledge_base === null ? null : `${job.project}.${job.knowledge_base}`
      const { id, kind, state, title, rows: count, chunks } = job
      return [id, kind, state, target, title, count, chunks, job.created_at.slice(0, 19)]
    })
    return { names, rows }
  })
  const isCut = !output.isJson && total > items.length && items.length > 0
  if (isCut) output.say(`${total - items.length} more: --limit`)
  return undefined
}

function jobLines({ errors, ...fields }: JobRecord): readonly string[] {
  const leftOut = errors.slice(0, ERRORS_SHOWN).map(({ item, message }) => {
    return `left out: ${safeLine(item)}: ${safeLine(message)}`
  })
  return [...shownLines(fields), ...leftOut]
}

async function changeJob(
  action: 'watch' | (typeof CHANGES)[number],
  id: number,
  context: CommandContext,
): Promise<undefined> {
  const { client, options, output, signal } = context
  const path = `/api/jobs/${id}/${action}`
  const job = action === 'watch' ? null : await client.send<JobRecord>('POST', path, { signal })
  const isWatching = job === null || (action !== 'cancel' && options.flag('wait') === true)
  const last = isWatching ? await watchJob(id, context) : job
  await show(output, last, () => {
    return isWatching ? [] : `Job ${id} ${last.state}: ${progressText(last)}`
  })
  if (isWatching) {
    sayLeftOut(last, output)
    requireDone(last)
  }
  return undefined
}
