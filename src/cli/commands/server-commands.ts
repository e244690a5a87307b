/** Commands that send one request and print the answer: status, backups, databases, jobs, … */
import type {
  BACKUP,
  DATABASE_CHECK,
  JOB_LIST,
  SOURCE,
  SOURCE_RUN,
} from '../../api/http/answers/records/catalog-schemas.ts'
import type { STATUS } from '../../api/http/answers/records/server-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import {
  type CommandContext,
  namedObject,
  type Options,
  pathOf,
  type RunCommand,
} from '../command.ts'
import { CommandError, EXIT, usageError } from '../command-error.ts'
import {
  type JobRecord,
  progressText,
  requireDone,
  sayLeftOut,
  watchJob,
} from '../jobs-over-http.ts'
import { counted, type Output, sizeText } from '../output.ts'
import { safeLine } from '../terminal-text.ts'
import { actionOf, show, shownLines } from './record-output.ts'

type ServerStatus = Wire<typeof STATUS>

export const status: RunCommand = async ({ client, output, signal }) => {
  const found = await client.send<ServerStatus>('GET', '/api/status', { signal })
  return show(output, found, () => [
    `Eider ${found.eider_version} at ${client.address}`,
    ...statusLines(found).map(([name, text]) => `${name.padEnd(11)} ${safeLine(text)}`),
  ])
}

function statusLines(found: ServerStatus): readonly (readonly [name: string, text: string])[] {
  const { auth, indexes, principal, statements, restarts, disk, memory, backups } = found
  const names = Object.entries(indexes).flatMap(([name, { possible }]) => (possible ? [name] : []))
  const lines: [string, string][] = [['login', loginText(auth, principal)]]
  if (statements !== undefined) {
    lines.push(['statements', `${statements.running} running, ${statements.waiting} waiting`])
  }
  if (memory !== undefined) {
    const limit = memory.limit === null ? '' : ` of ${sizeText(memory.limit)}`
    lines.push(['memory', `${sizeText(memory.rss)}${limit}`])
  }
  if (disk !== undefined) {
    const free = disk.free === null ? '' : `, ${sizeText(disk.free)} free`
    const full = disk.full ? '. FULL: nothing can be stored' : ''
    lines.push(['disk', `${sizeText(disk.data)} data, ${sizeText(disk.files)} files${free}${full}`])
  }
  if (backups !== undefined) lines.push(['backups', backupsText(backups)])
  if (restarts !== undefined) lines.push(['restarts', String(restarts.count)])
  return [...lines, ['indexes', names.join(', ')]]
}

function loginText(
  { http_auth_enabled: isOn, confirmed }: ServerStatus['auth'],
  principal: ServerStatus['principal'],
): string {
  if (!isOn) return 'off'
  if (!confirmed || principal === undefined) return 'on; you are not logged in'
  return `on; you are the ${principal.kind} ${principal.name} (${principal.scopes.join(', ')})`
}

function backupsText({ last, next, failed }: NonNullable<ServerStatus['backups']>): string {
  const parts = [
    last === null
      ? 'none yet'
      : `last ${last.created_at.slice(0, 16)} UTC, ${sizeText(last.size_bytes)}`,
    ...(next === null ? [] : [`next ${next.slice(0, 16)} UTC`]),
    ...(failed === null ? [] : [`failed at ${failed.at.slice(0, 16)} UTC: ${failed.message}`]),
  ]
  return parts.join('; ')
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

/** Unlike on a command line, no password in SQL becomes visible to other users. */
const IN_SQL: Readonly<Record<string, string>> = {
  create: 'CREATE DATABASE',
  add: 'CREATE DATABASE',
  alter: 'ALTER DATABASE',
  drop: 'DROP DATABASE',
  remove: 'DROP DATABASE',
}

export const databases: RunCommand = async (context) => {
  const [word = 'list', name] = context.words
  const { client, output, signal } = context
  if (word === 'list' && name === undefined) {
    type Databases = readonly { readonly [field: string]: string | null }[]
    const all = await client.send<Databases>('GET', '/api/databases', { signal })
    const rows = all.map(({ name, type, engine }) => [name, type, engine])
    return show(output, all, () => ({ names: ['name', 'type', 'engine'], rows }))
  }
  const sql = IN_SQL[word]
  const said = sql === undefined ? undefined : `${sql} does that: eider sql, or eider sql -f <file>`
  const action = actionOf('databases', word, ['list', 'check', 'tables'], said)
  if (name === undefined) throw usageError(`databases ${action} needs a database name`)
  const path = `/api/databases/${encodeURIComponent(name)}`
  return action === 'check' ? checkDatabase(name, path, context) : databaseTables(path, context)
}

async function checkDatabase(
  name: string,
  path: string,
  { client, output, signal }: CommandContext,
): Promise<number> {
  const answer = await client.send<Wire<typeof DATABASE_CHECK>>('POST', `${path}/check`, { signal })
  const { success, error_message: message } = answer
  if (!success && !output.isJson) {
    throw new CommandError('source_failed', `${name}: ${safeLine(message ?? 'it does not answer')}`)
  }
  await show(output, answer, () => `${name} answers`)
  return success ? EXIT.done : EXIT.failed
}

async function databaseTables(path: string, { client, output, signal }: CommandContext) {
  const found = await client.send<unknown>('GET', `${path}/tables`, { signal })
  if (!Array.isArray(found)) return output.json(found).then(() => undefined)
  // Records in this list may have any fields.
  const records = found as readonly Readonly<Record<string, unknown>>[]
  const names = Object.keys(records[0] ?? { name: '' })
  const rows = records.map((record) => names.map((column) => record[column] ?? null))
  return show(output, found, () => ({ names, rows }))
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
      return [id, kind, state, target, title, count, chunks, timeOf(job, output)]
    })
    return { names, rows }
  })
  const isCut = !output.isJson && total > items.length && items.length > 0
  if (isCut) output.say(`${total - items.length} more: --limit`)
  return undefined
}

/** A terminal has space for the time of day or the date, not for both. */
function timeOf({ created_at: at }: JobRecord, { isTerminal }: Output): string {
  if (!isTerminal) return at.slice(0, 19)
  const today = new Date().toISOString().slice(0, 10)
  return at.startsWith(today) ? at.slice(11, 19) : at.slice(0, 10)
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
  if (isWatching) endOfWatch(last, output)
  return undefined
}

/** @throws CommandError if the job did not complete */
function endOfWatch(job: JobRecord, output: Output): void {
  sayLeftOut(job, output)
  requireDone(job)
}

type SourceRecord = Wire<typeof SOURCE>
type RunRecord = Wire<typeof SOURCE_RUN>

/** Shows the sources that a knowledge base syncs from, on a schedule or when they change. */
export const sources: RunCommand = async (context) => {
  const { client, options, output, signal } = context
  const [kb = '', word = 'list', name] = context.words
  const path = `${pathOf('knowledge_bases', namedObject(kb, options))}/sources`
  const action = actionOf('sources', word, ['list', 'add', 'run', 'runs', 'remove'])
  if (action === 'list') return listSources(path, context)
  if (name === undefined) throw usageError(`sources: "${action}" needs a source name`)
  const one = `${path}/${encodeURIComponent(name)}`
  if (action === 'run') return runSource(one, context)
  if (action === 'runs') return listRuns(one, context)
  if (action === 'add') {
    const source = { name, ...sourceFields(options) }
    const made = await client.send('POST', path, { json: { source }, signal })
    return show(
      output,
      made,
      () => `Added ${name}; eider sources ${context.words[0]} run ${name} reads it now`,
    )
  }
  await client.send('DELETE', one, { signal })
  if (output.isJson) await output.json({ name, removed: true })
  output.say(`Removed ${name}; its documents are kept`)
  return EXIT.done
}

async function listSources(path: string, { client, output, signal }: CommandContext) {
  const all = await client.send<readonly SourceRecord[]>('GET', path, { signal })
  const names = ['id', 'name', 'kind', 'schedule', 'watch', 'next run (UTC)', 'last run']
  const rowOf = (source: SourceRecord) => {
    const { id, name, kind, schedule, watch, next_run_at: next, last_run: last } = source
    return [id, name, kind, schedule, watch, next?.slice(0, 19) ?? null, last?.state ?? null]
  }
  return show(output, all, () => ({ names, rows: all.map(rowOf) }))
}

const SOURCE_OPTIONS = {
  folder: ['folder', 'path'],
  url: ['url', 'url'],
  site: ['site', 'url'],
  sitemap: ['sitemap', 'url'],
  query: ['query', 'query'],
  table: ['table', 'table'],
} as const

function sourceFields(options: Options): Readonly<Record<string, unknown>> {
  const named = Object.entries(SOURCE_OPTIONS).filter(
    ([option]) => options.text(option) !== undefined,
  )
  const [first, second] = named
  if (first === undefined || second !== undefined) {
    const all = Object.keys(SOURCE_OPTIONS).map((option) => `--${option}`)
    throw usageError(`sources add: give one of ${all.join(', ')}`)
  }
  const [option, [kind, field]] = first
  const include = options.list('include')
  const exclude = options.list('exclude')
  // JSON leaves out undefined values.
  return {
    kind,
    [field]: options.text(option),
    schedule: options.text('schedule'),
    watch: options.flag('watch'),
    remove_vanished: options.flag('remove-vanished'),
    limit: options.count('limit'),
    crawl_depth: options.count('depth', 0),
    include: include.length === 0 ? undefined : include,
    exclude: exclude.length === 0 ? undefined : exclude,
  }
}

async function runSource(path: string, context: CommandContext): Promise<undefined> {
  const { client, options, output, signal } = context
  const json = { full: options.flag('full') === true }
  const isWatching = options.flag('wait') !== false
  const job = await client.send<JobRecord>('POST', `${path}/run`, { json, signal })
  const last = isWatching ? await watchJob(job.id, context) : job
  await show(output, last, () => (isWatching ? [] : `Job ${job.id}: eider jobs watch ${job.id}`))
  if (isWatching) endOfWatch(last, output)
  return undefined
}

async function listRuns(path: string, { client, output, signal }: CommandContext) {
  const all = await client.send<readonly RunRecord[]>('GET', `${path}/runs`, { signal })
  // The counts come after the columns that every run has.
  const known = ['id', 'state', 'started_at', 'duration_ms', 'error']
  const counts = Object.entries(all[0] ?? {}).flatMap(([key, value]) => {
    return typeof value === 'number' && !known.includes(key) && key !== 'job_id' ? [key] : []
  })
  const rowOf = (run: RunRecord & { readonly [count: string]: unknown }) => {
    const { started_at: at, state, duration_ms: ms, error } = run
    return [at.slice(0, 19), state, ms, ...counts.map((key) => run[key] ?? null), error]
  }
  const names = ['started (UTC)', 'state', 'ms', ...counts, 'error']
  return show(output, all, () => ({ names, rows: all.map(rowOf) }))
}
