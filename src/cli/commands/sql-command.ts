import { readFile } from 'node:fs/promises'
import {
  type CommandContext,
  DEFAULT_PROJECT_NAME,
  type Options,
  type RunCommand,
} from '../command.ts'
import { CommandError, readStandardInput, usageError } from '../command-error.ts'
import {
  copyAsJsonList,
  copyBytes,
  refuseBinaryTerminal,
  type Write,
  withTarget,
} from '../sql/row-files.ts'
import {
  openRows,
  type RowFormat,
  runSql,
  type StatementRequest,
  showAnswer,
  splitStatements,
} from '../sql/statement-client.ts'
import { plainValue } from './search-command.ts'

export const run: RunCommand = async (context) => {
  const { options, output } = context
  const format = options.only(['csv', 'ndjson', 'parquet', 'json'], 'formats')
  const file = options.text('output')
  if (format === undefined && file !== undefined) {
    throw usageError('-o needs a format: --csv, --json, --ndjson or --parquet')
  }
  if (format === 'parquet') refuseBinaryTerminal(file, output, 'Parquet')
  const params = paramsOf(options.list('param'))
  const project = options.text('project') ?? DEFAULT_PROJECT_NAME
  const text = await statementText(context)
  if (text === null) {
    if (format !== undefined) throw usageError(`--${format} needs a statement`)
    const { runShell } = await import('../sql/sql-shell.ts')
    return runShell(context, { project, params, expanded: expandedOf(options) })
  }
  const { statements, rest } = splitStatements(text)
  const all = rest === '' ? statements : [...statements, rest.trim()]
  if (all.length === 0) throw usageError('There is no statement')
  const requests = all.map((sql) => ({ sql, project, params }))
  if (format === undefined) await showAll(requests, context)
  else if (file !== undefined && requests.length > 1) {
    throw usageError(`-o takes one statement, found ${requests.length}`)
  } else await withTarget(file, output, (write) => writeAll(requests, format, write, context))
  return undefined
}

/** Parses parameters of the form `name=value`. */
function paramsOf(given: readonly string[]): Readonly<Record<string, unknown>> {
  const entries = given.map((one) => {
    const [, name = '', value = ''] = /^:?([A-Za-z_]\w*)=(.*)$/s.exec(one) ?? []
    if (name === '') throw usageError(`--param: expected name=value, found "${one}"`)
    return [name, plainValue(value)] as const
  })
  return Object.fromEntries(entries)
}

/** Returns null if no statement is given and a user is at a terminal. */
async function statementText({ words, options }: CommandContext): Promise<string | null> {
  const [word] = words
  const file = options.text('file')
  if (word !== undefined && file !== undefined) {
    throw usageError('sql: give a statement or -f, not both')
  }
  if (file !== undefined && file !== '-') {
    return readFile(file, 'utf8').catch((cause: Error) => {
      throw new CommandError('file_failed', `${file} cannot be read: ${cause.message}`, { cause })
    })
  }
  if (word !== undefined && word !== '-') return word
  if (process.stdin.isTTY === true && word === undefined && file === undefined) return null
  return readStandardInput('a statement')
}

async function showAll(
  requests: readonly StatementRequest[],
  { client, output, options, signal }: CommandContext,
): Promise<void> {
  const expanded = expandedOf(options)
  let project = requests[0]?.project ?? DEFAULT_PROJECT_NAME
  for (const request of requests) {
    const startedAt = performance.now()
    const answer = await runSql({ ...request, project }, client, signal)
    // USE changes the project for the following statements.
    if (answer.kind === 'ok') project = answer.project
    await showAnswer(
      answer,
      { expanded, isTimed: options.flag('timing') === true, startedAt },
      output,
    )
  }
}

function expandedOf(options: Options): 'on' | 'off' | 'auto' {
  const flag = options.flag('expanded')
  if (flag === undefined) return 'auto'
  return flag ? 'on' : 'off'
}

async function writeAll(
  requests: readonly StatementRequest[],
  format: RowFormat,
  write: Write,
  { client, output, signal }: CommandContext,
): Promise<void> {
  for (const request of requests) {
    const response = await openRows(request, format, client, signal)
    if (response === null) {
      if (format === 'json') await write(new TextEncoder().encode('[]\n'))
      else output.say('OK')
    } else if (format === 'json') await copyAsJsonList(response, client.address, write, signal)
    else await copyBytes(response, client.address, write, signal)
  }
}
