/** What a knowledge base is kept in step with: by the server, on a schedule or as it changes. */

import {
  type CommandContext,
  namedObject,
  type Options,
  pathOf,
  type RunCommand,
} from '../command.ts'
import { EXIT, usageError } from '../command-error.ts'
import { nearest } from '../command-line.ts'
import { type JobRecord, requireDone, sayLeftOut, watchJob } from '../jobs-over-http.ts'
import { showTable } from './shown-table.ts'

/** The server's records, as far as they are shown. */
interface SourceRecord {
  readonly id: number
  readonly name: string
  readonly kind: string
  readonly schedule: string | null
  readonly watch: boolean
  readonly next_run_at: string | null
  readonly last_run: RunRecord | null
}

interface RunRecord {
  readonly id: number
  readonly state: string
  readonly started_at: string
  readonly duration_ms: number | null
  readonly error: string | null
}

const ACTIONS = ['list', 'add', 'run', 'runs', 'remove']

export const run: RunCommand = async (context) => {
  const [kb = '', action = 'list', name] = context.words
  const path = `${pathOf('knowledge_bases', namedObject(kb, context.options))}/sources`
  if (!ACTIONS.includes(action)) {
    const near = nearest(action, ACTIONS)
    const hint = near === undefined ? `there are ${ACTIONS.join(', ')}` : `did you mean ${near}?`
    throw usageError(`sources: there is no "${action}"; ${hint}`)
  }
  if (action === 'list') return list(path, context)
  if (name === undefined) throw usageError(`sources: "${action}" needs the name of a source`)
  const one = `${path}/${encodeURIComponent(name)}`
  if (action === 'add') return add(path, name, context)
  if (action === 'run') return runOne(one, context)
  if (action === 'runs') return runs(one, context)
  await context.client.send('DELETE', one, { signal: context.signal })
  if (context.output.isJson) await context.output.json({ name, removed: true })
  context.output.say(`Removed ${name}; its documents stay`)
  return EXIT.done
}

async function list(path: string, { client, output, signal }: CommandContext): Promise<number> {
  // The server's own answer, whose form its routes define; so below.
  const all = (await client.send('GET', path, { signal })) as readonly SourceRecord[]
  if (output.isJson) await output.json(all)
  else {
    const names = ['id', 'name', 'kind', 'schedule', 'watch', 'next run (UTC)', 'last run']
    const rows = all.map(
      ({ id, name, kind, schedule, watch, next_run_at: next, last_run: last }) => {
        return [id, name, kind, schedule, watch, next?.slice(0, 19) ?? null, last?.state ?? null]
      },
    )
    await showTable(names, rows, output)
  }
  return EXIT.done
}

/** Option → kind, and the field that it fills. */
const KINDS = {
  folder: ['folder', 'path'],
  url: ['url', 'url'],
  site: ['site', 'url'],
  sitemap: ['sitemap', 'url'],
  query: ['query', 'query'],
  table: ['table', 'table'],
} as const

async function add(path: string, name: string, context: CommandContext): Promise<number> {
  const { client, options, output, signal } = context
  const source = { name, ...sourceFields(options) }
  const made = await client.send('POST', path, { json: { source }, signal })
  if (output.isJson) await output.json(made)
  else output.say(`Added ${name}; eider sources ${context.words[0]} run ${name} reads it now`)
  return EXIT.done
}

function sourceFields(options: Options): Readonly<Record<string, unknown>> {
  const named = Object.entries(KINDS).filter(([option]) => options.text(option) !== undefined)
  const [first, second] = named
  if (first === undefined || second !== undefined) {
    const all = Object.keys(KINDS).map((option) => `--${option}`)
    throw usageError(`sources add: give one of ${all.join(', ')}`)
  }
  const [option, [kind, field]] = first
  const limit = options.count('limit')
  const depth = options.count('depth', 0)
  const schedule = options.text('schedule')
  const isWatched = options.flag('watch')
  const removesVanished = options.flag('remove-vanished')
  const include = options.list('include')
  const exclude = options.list('exclude')
  return {
    kind,
    [field]: options.text(option),
    ...(schedule === undefined ? {} : { schedule }),
    ...(isWatched === undefined ? {} : { watch: isWatched }),
    ...(removesVanished === undefined ? {} : { remove_vanished: removesVanished }),
    ...(limit === undefined ? {} : { limit }),
    ...(depth === undefined ? {} : { crawl_depth: depth }),
    ...(include.length === 0 ? {} : { include }),
    ...(exclude.length === 0 ? {} : { exclude }),
  }
}

async function runOne(path: string, context: CommandContext): Promise<number> {
  const { client, options, output, signal } = context
  const json = { full: options.flag('full') === true }
  // As above.
  const job = (await client.send('POST', `${path}/run`, { json, signal })) as JobRecord
  const last = options.flag('wait') === false ? job : await watchJob(job.id, context)
  if (output.isJson) await output.json(last)
  else if (options.flag('wait') === false) output.say(`Job ${job.id}: eider jobs watch ${job.id}`)
  if (options.flag('wait') !== false) {
    sayLeftOut(last, output)
    requireDone(last)
  }
  return EXIT.done
}

async function runs(path: string, { client, output, signal }: CommandContext): Promise<number> {
  // As above.
  const all = (await client.send('GET', `${path}/runs`, { signal })) as readonly RunRecord[]
  if (output.isJson) await output.json(all)
  else {
    // Counts stand beside what every run has.
    const known = ['id', 'state', 'started_at', 'duration_ms', 'error']
    const [first] = all as readonly unknown[]
    const counts = Object.entries(first ?? {}).flatMap(([key, value]) => {
      return typeof value === 'number' && !known.includes(key) && key !== 'job_id' ? [key] : []
    })
    const names = ['started (UTC)', 'state', 'ms', ...counts, 'error']
    const rows = all.map((one) => {
      // By the names that were found on the first.
      const fields = one as unknown as Readonly<Record<string, unknown>>
      const { started_at: at, state, duration_ms: ms, error } = one
      return [at.slice(0, 19), state, ms, ...counts.map((key) => fields[key] ?? null), error]
    })
    await showTable(names, rows, output)
  }
  return EXIT.done
}
