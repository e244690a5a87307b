import type { CommandContext, RunCommand } from '../command.ts'
import { EXIT, usageError } from '../command-error.ts'
import { nearest } from '../command-line.ts'
import {
  type JobRecord,
  progressText,
  requireDone,
  sayLeftOut,
  watchJob,
} from '../jobs-over-http.ts'
import type { Output } from '../output.ts'
import { safeLine } from '../terminal-text.ts'
import { shownLines } from './shown-lines.ts'
import { showTable } from './shown-table.ts'

const ACTIONS = ['list', 'show', 'watch', 'cancel', 'retry', 'resume', 'forget'] as const
const ERRORS_SHOWN = 20

export const run: RunCommand = async (context) => {
  const [word = 'list', id] = context.words
  const action = ACTIONS.find((one) => one === word)
  if (action === undefined) {
    const near = nearest(word, ACTIONS)
    const hint = near === undefined ? `there are ${ACTIONS.join(', ')}` : `did you mean ${near}?`
    throw usageError(`jobs: there is no "${word}"; ${hint}`)
  }
  if (action === 'list') return list(context)
  if (id === undefined || !/^\d+$/.test(id)) {
    throw usageError(`jobs ${action} needs the number of a job; "eider jobs" lists them`)
  }
  return action === 'show' ? show(id, context) : change(action, Number(id), context)
}

async function list({ client, options, output, signal }: CommandContext): Promise<undefined> {
  const given = ['state', 'kind', 'project', 'limit'].flatMap((name) => {
    const value = options.text(name)
    return value === undefined ? [] : [[name, value]]
  })
  const query = new URLSearchParams(Object.fromEntries(given)).toString()
  const path = query === '' ? '/api/jobs' : `/api/jobs?${query}`
  // The server's own answer, whose form its routes define.
  const found = (await client.send('GET', path, { signal })) as {
    readonly items: readonly JobRecord[]
    readonly total: number
  }
  if (output.isJson) {
    await output.json(found)
    return
  }
  if (found.items.length === 0) {
    output.say('There are no jobs')
    return
  }
  const rows = found.items.map((job) => {
    const target = job.knowledge_base === null ? null : `${job.project}.${job.knowledge_base}`
    const { id, kind, state, title, rows: count, chunks } = job
    return [id, kind, state, target, title, count, chunks, timeOf(job, output)]
  })
  const names = ['id', 'kind', 'state', 'into', 'title', 'rows', 'chunks', 'created (UTC)']
  await showTable(names, rows, output)
  if (found.total > rows.length) output.say(`${found.total - rows.length} more: --limit`)
}

/** A terminal has room for the time of day, or for the day. */
function timeOf({ created_at: at }: JobRecord, { isTerminal }: Output): string {
  if (!isTerminal) return at.slice(0, 19)
  const today = new Date().toISOString().slice(0, 10)
  return at.startsWith(today) ? at.slice(11, 19) : at.slice(0, 10)
}

async function show(id: string, { client, output, signal }: CommandContext): Promise<undefined> {
  // As above.
  const job = (await client.send('GET', `/api/jobs/${id}`, { signal })) as JobRecord
  if (output.isJson) {
    await output.json(job)
    return
  }
  const { errors, ...fields } = job
  await output.line(shownLines(fields).join('\n'))
  for (const { item, message } of errors.slice(0, ERRORS_SHOWN)) {
    await output.line(`left out: ${safeLine(item)}: ${safeLine(message)}`)
  }
}

async function change(
  action: 'watch' | 'cancel' | 'retry' | 'resume' | 'forget',
  id: number,
  context: CommandContext,
): Promise<number> {
  const { client, options, output, signal } = context
  if (action === 'forget') {
    await client.send('DELETE', `/api/jobs/${id}`, { signal })
    if (output.isJson) await output.json({ id, forgotten: true })
    else output.say(`Job ${id} is forgotten`)
    return EXIT.done
  }
  let job: JobRecord | null = null
  if (action !== 'watch') {
    // As above.
    job = (await client.send('POST', `/api/jobs/${id}/${action}`, { signal })) as JobRecord
  }
  const isWatching = action === 'watch' || (action !== 'cancel' && options.flag('wait') === true)
  const last = isWatching || job === null ? await watchJob(id, context) : job
  if (output.isJson) await output.json(last)
  else if (!isWatching) output.say(`Job ${id} ${last.state}: ${progressText(last)}`)
  if (isWatching) {
    sayLeftOut(last, output)
    requireDone(last)
  }
  return EXIT.done
}
