import type { CommandContext, RunCommand } from '../command.ts'
import { CommandError, EXIT, usageError } from '../command-error.ts'
import { nearest } from '../command-line.ts'
import { safeLine } from '../terminal-text.ts'
import { showTable } from './shown-table.ts'

interface DatabaseRecord {
  readonly name: string
  readonly type: string
  readonly engine: string | null
}

const ACTIONS = ['list', 'check', 'tables']
/** What SQL does, where a password need not stand on a command line. */
const IN_SQL: Readonly<Record<string, string>> = {
  create: 'CREATE DATABASE',
  add: 'CREATE DATABASE',
  alter: 'ALTER DATABASE',
  drop: 'DROP DATABASE',
  remove: 'DROP DATABASE',
}

export const run: RunCommand = async (context) => {
  const [action = 'list', name] = context.words
  if (action === 'list' && name === undefined) return list(context)
  if (!ACTIONS.includes(action)) {
    const near = nearest(action, ACTIONS)
    const hint = near === undefined ? `there are ${ACTIONS.join(', ')}` : `did you mean ${near}?`
    const sql = IN_SQL[action]
    const said = sql === undefined ? hint : `${sql} does that: eider sql, or eider sql -f <file>`
    throw usageError(`databases: there is no "${action}"; ${said}`)
  }
  if (name === undefined) throw usageError(`databases ${action} needs the name of a database`)
  if (action === 'check') return check(name, context)
  return tables(name, context)
}

async function list({ client, output, signal }: CommandContext): Promise<undefined> {
  // The server's own answer, whose form its routes define.
  const all = (await client.send('GET', '/api/databases', { signal })) as readonly DatabaseRecord[]
  if (output.isJson) {
    await output.json(all)
    return
  }
  const rows = all.map(({ name, type, engine }) => [name, type, engine])
  await showTable(['name', 'type', 'engine'], rows, output)
}

async function check(name: string, { client, output, signal }: CommandContext): Promise<number> {
  const path = `/api/databases/${encodeURIComponent(name)}/check`
  // As above.
  const answer = (await client.send('POST', path, { signal })) as {
    readonly success: boolean
    readonly error_message: string | null
  }
  if (output.isJson) {
    await output.json(answer)
    return answer.success ? EXIT.done : EXIT.failed
  }
  if (!answer.success) {
    const why = safeLine(answer.error_message ?? 'it does not answer')
    throw new CommandError('source_failed', `${name}: ${why}`)
  }
  output.say(`${name} answers`)
  return EXIT.done
}

async function tables(
  name: string,
  { client, output, signal }: CommandContext,
): Promise<undefined> {
  const path = `/api/databases/${encodeURIComponent(name)}/tables`
  const found = await client.send('GET', path, { signal })
  if (output.isJson || !Array.isArray(found)) {
    await output.json(found)
    return
  }
  // A list of records, whatever fields they have.
  const records = found as readonly Readonly<Record<string, unknown>>[]
  const names = Object.keys(records[0] ?? { name: '' })
  const rows = records.map((record) => names.map((column) => record[column] ?? null))
  await showTable(names, rows, output)
}
