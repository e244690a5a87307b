/** A shell for SQL: multi-line statements, history, completion, and commands that start with a backslash. */

import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT } from '../command-error.ts'
import { nearest } from '../command-line.ts'
import type { HttpClient } from '../http-client.ts'
import { type Output, ReaderLeft } from '../output.ts'
import type { TableStyle } from '../result-table.ts'
import { completionsOf, SHELL_COMMANDS, ShellNames } from './shell-names.ts'
import { runSql, showAnswer, splitStatements } from './statement-client.ts'

/** @returns the exit code, once the user leaves */
export async function runShell(
  context: CommandContext,
  given: {
    readonly project: string
    readonly params: Readonly<Record<string, unknown>>
  },
): Promise<number> {
  const { project, params } = given
  const { client, output, environment } = context
  // Before the first prompt: fails if the server or the login is missing.
  const { eider_version: version } = await client.send<{ readonly eider_version?: string }>(
    'GET',
    '/api/status',
    { signal: context.signal },
  )
  output.say(`Eider ${version ?? '?'} at ${client.address}. \\? for help, \\q to leave`)
  const names = new ShellNames(client)
  const state: ShellState = { project, expanded: 'auto', isTimed: true }
  const reader = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: true,
    history: [...readHistory(environment)],
    historySize: 1000,
    removeHistoryDuplicates: true,
    completer: (line: string, done: (error: null, found: [string[], string]) => void) => {
      completionsOf(line, names, state.project).then(
        (found) => done(null, found),
        // A server that does not answer completes nothing.
        () => done(null, [[], line]),
      )
    },
  })
  try {
    return await new Shell({ ...context, reader, names, state, params }).run()
  } finally {
    reader.close()
  }
}

interface ShellParts extends CommandContext {
  readonly reader: Interface
  readonly names: ShellNames
  readonly state: ShellState
  readonly params: Readonly<Record<string, unknown>>
}

/** May have created, changed or dropped something with a name. */
const CHANGES_NAMES = /^\s*(?:create|alter|drop|use)\b/i

class Shell {
  readonly #parts: ShellParts
  /** Lines still without a semicolon. */
  #pending = ''
  #running: AbortController | null = null

  constructor(parts: ShellParts) {
    this.#parts = parts
  }

  run(): Promise<number> {
    const { reader } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    let work = Promise.resolve()
    reader.on('line', (line) => {
      // Pasted lines wait for each other.
      work = work.then(async () => {
        if (await this.#line(line)) resolve(EXIT.done)
        else this.#prompt()
      })
      work.catch(reject)
    })
    reader.on('SIGINT', () => this.#interrupt())
    reader.on('close', () => {
      // After Ctrl-D; what is read from a pipe ends so too.
      work = work.then(() => resolve(EXIT.done))
    })
    this.#prompt()
    return promise
  }

  #prompt(): void {
    const { reader, state } = this.#parts
    const name = state.project
    reader.setPrompt(
      this.#pending === '' ? `${name}> ` : `${' '.repeat(Math.max(0, name.length - 1))}-> `,
    )
    reader.prompt()
  }

  #interrupt(): void {
    if (this.#running !== null) {
      this.#running.abort()
      return
    }
    // Discards this line and the pending ones.
    this.#pending = ''
    process.stdout.write('^C\n')
    this.#parts.reader.write(null, { ctrl: true, name: 'e' })
    this.#parts.reader.write(null, { ctrl: true, name: 'u' })
    this.#prompt()
  }

  /** @returns true: it is over */
  async #line(line: string): Promise<boolean> {
    if (this.#pending === '' && /^\s*\\/.test(line)) return this.#command(line.trim())
    if (this.#pending === '' && /^\s*(?:exit|quit)\s*;?\s*$/i.test(line)) return true
    const text = this.#pending === '' ? line : `${this.#pending}\n${line}`
    const { statements, rest } = splitStatements(text)
    this.#pending = rest
    if (statements.length > 0) rememberStatement(text, this.#parts.environment)
    for (const statement of statements) {
      const isDone = await this.#guarded((signal) => this.#statement(statement, signal))
      if (!isDone) break
    }
    return false
  }

  async #command(line: string): Promise<boolean> {
    let isOver = false
    await this.#guarded(async (signal) => {
      const { client, output, names, state } = this.#parts
      const run = (sql: string) => this.#statement(sql, signal)
      isOver = await runShellCommand(line, { state, client, output, names, run, signal })
    })
    return isOver
  }

  async #statement(sql: string, signal: AbortSignal): Promise<void> {
    const { client, output, state, params, names } = this.#parts
    const startedAt = performance.now()
    const answer = await runSql({ sql, project: state.project, params }, client, signal)
    if (answer.kind === 'ok') state.project = answer.project
    const { expanded, isTimed } = state
    await showAnswer(answer, { expanded, isTimed, startedAt }, output)
    if (CHANGES_NAMES.test(sql)) names.forget()
  }

  /** @returns false: it failed or was interrupted, with a message */
  async #guarded(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const { output } = this.#parts
    const running = new AbortController()
    this.#running = running
    try {
      await work(running.signal)
      return true
    } catch (error) {
      if (running.signal.aborted) output.warn('Interrupted')
      else if (error instanceof CommandError)
        output.warn(`${output.red('Error:')} ${error.message}`)
      else if (error instanceof ReaderLeft || !(error instanceof Error)) throw error
      else output.warn(`${output.red('Error:')} ${error.message}`)
      return false
    } finally {
      this.#running = null
    }
  }
}

// The shell's commands besides SQL: `\d`, `\x`, `\q` …

interface ShellState {
  /** The project of unqualified names. */
  project: string
  expanded: TableStyle['expanded']
  isTimed: boolean
}

const HELP = `  \\d              tables, knowledge bases and views of the project
  \\d <name>       its columns
  \\dt [like]      tables of all projects and databases, those that are LIKE it
  \\l              projects and databases
  \\a              agents
  \\use <project>  look names up there (USE <project>)
  \\x [on|off|auto]  each column on a line of its own
  \\timing [on|off]  how long a statement took
  \\q              leave (also Ctrl-D)

A statement ends with ";" and may have several lines. Tab completes names and words.
Ctrl-C stops the statement that runs, or throws away the line.`

/** @returns true: leave the shell. @throws CommandError for an unknown command */
async function runShellCommand(
  line: string,
  parts: {
    readonly state: ShellState
    readonly client: HttpClient
    readonly output: Output
    readonly names: Pick<ShellNames, 'forget'>
    readonly run: (sql: string) => Promise<void>
    readonly signal: AbortSignal
  },
): Promise<boolean> {
  const [name = '', ...words] = line.replace(/;\s*$/, '').trim().split(/\s+/)
  const argument = words.join(' ')
  const { state, output, run } = parts
  switch (name) {
    case '\\q':
      return true
    case '\\?':
    case '\\h':
    case '\\help':
      await output.line(HELP)
      return false
    case '\\d':
      await run(
        argument === ''
          ? tablesStatement(state.project)
          : columnsStatement(argument, state.project),
      )
      return false
    case '\\dt':
      await run(allTables(argument))
      return false
    case '\\l':
      await run('SHOW DATABASES')
      return false
    case '\\a':
      await run('SHOW AGENTS')
      return false
    case '\\use':
      if (argument === '') throw new CommandError('usage', '\\use needs the name of a project')
      await run(`USE ${identifier(argument)}`)
      return false
    case '\\x':
      state.expanded = switched(argument, state.expanded === 'on' ? 'auto' : 'on', [
        'on',
        'off',
        'auto',
      ])
      output.say(`Expanded display is ${state.expanded}`)
      return false
    case '\\timing':
      state.isTimed = switched(argument, state.isTimed ? 'off' : 'on', ['on', 'off']) === 'on'
      output.say(`Timing is ${state.isTimed ? 'on' : 'off'}`)
      return false
  }
  const near = nearest(name, SHELL_COMMANDS)
  const hint = near === undefined ? '\\? lists those there are' : `did you mean ${near}?`
  throw new CommandError('usage', `There is no command ${name}; ${hint}`)
}

function switched<T extends string>(argument: string, other: T, values: readonly T[]): T {
  if (argument === '') return other
  const value = values.find((one) => one === argument.toLowerCase())
  if (value !== undefined) return value
  throw new CommandError('usage', `Expected ${values.join(', ')}, found ${argument}`)
}

function tablesStatement(project: string): string {
  return `SELECT table_name AS name, lower(table_type) AS kind FROM information_schema.tables
    WHERE lower(table_schema) = lower(${quotedText(project)}) ORDER BY 1`
}

function allTables(like: string): string {
  const condition =
    like === '' ? '' : `AND table_name ILIKE ${quotedText(like.includes('%') ? like : `%${like}%`)}`
  return `SELECT table_schema AS "in", table_name AS name, lower(table_type) AS kind
    FROM information_schema.tables WHERE lower(table_schema) <> 'information_schema' ${condition} ORDER BY 1, 2`
}

/** `name`, `project.name`, quoted or not. */
function columnsStatement(argument: string, project: string): string {
  const parts = [...argument.matchAll(/"((?:[^"]|"")*)"|`([^`]*)`|([^.]+)/g)].map((part) => {
    return (part[1]?.replaceAll('""', '"') ?? part[2] ?? part[3] ?? '').trim()
  })
  const table = parts.at(-1) ?? argument
  const schema = parts.length > 1 ? parts.slice(0, -1).join('.') : project
  return `SELECT column_name AS "column", data_type AS type, column_comment AS comment FROM information_schema.columns
    WHERE lower(table_name) = lower(${quotedText(table)}) AND lower(table_schema) = lower(${quotedText(schema)})
    ORDER BY ordinal_position`
}

function quotedText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}

function identifier(name: string): string {
  return /^(?:["`]|[A-Za-z_]\w*$)/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** The statements of former shells, in a private file. */

type Environment = Readonly<Record<string, string | undefined>>

const HISTORY_STATEMENTS_MAX = 1000
/** A longer one is not remembered. */
const HISTORY_CHARS_MAX = 10_000

/** Statements that may contain a secret. */
const SECRETS = /password|passwd|api_?key|secret|token|credential|bearer|_key\b/i

/** null: no place for it is known. */
export function historyFile({ XDG_STATE_HOME, HOME, LOCALAPPDATA }: Environment): string | null {
  const folder = XDG_STATE_HOME || (HOME ? join(HOME, '.local/state') : LOCALAPPDATA)
  return folder ? join(folder, 'eider', 'sql-history') : null
}

/** The newest first, as readline keeps them. */
export function readHistory(environment: Environment): readonly string[] {
  const file = historyFile(environment)
  if (file === null) return []
  let lines: string[]
  try {
    lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  } catch {
    // There is none yet.
    return []
  }
  const kept = lines.slice(-HISTORY_STATEMENTS_MAX)
  try {
    if (lines.length > 2 * HISTORY_STATEMENTS_MAX) {
      writeFileSync(file, `${kept.join('\n')}\n`, { mode: 0o600 })
    }
  } catch {
    // It stays longer than it need be.
  }
  return kept.toReversed()
}

/** Stores a statement as one line. Skips those that may contain a secret, and does nothing if the file cannot be written. */
export function rememberStatement(text: string, environment: Environment): void {
  const file = historyFile(environment)
  const line = text.includes('--') ? text.trim() : text.replaceAll(/\s*\n\s*/g, ' ').trim()
  if (file === null || line === '' || line.includes('\n')) return
  if (SECRETS.test(line) || line.length > HISTORY_CHARS_MAX) return
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    appendFileSync(file, `${line}\n`, { mode: 0o600 })
    chmodSync(file, 0o600)
  } catch {
    // A shell without a memory is a shell.
  }
}
