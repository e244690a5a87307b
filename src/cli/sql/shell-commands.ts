/** What the shell knows beside SQL: `\d`, `\x`, `\q` … */
import { CommandError } from '../command-error.ts'
import { nearest } from '../command-line.ts'
import type { HttpClient } from '../http-client.ts'
import type { Output } from '../output.ts'
import type { TableStyle } from '../result-table.ts'
import { SHELL_COMMANDS, type ShellNames } from './shell-names.ts'

export interface ShellState {
  /** In which names are looked up. */
  project: string
  expanded: TableStyle['expanded']
  isTimed: boolean
}

export interface ShellCommandParts {
  readonly state: ShellState
  readonly client: HttpClient
  readonly output: Output
  readonly names: Pick<ShellNames, 'forget'>
  readonly run: (sql: string) => Promise<void>
  readonly signal: AbortSignal
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

/** @returns true: the shell is over. @throws CommandError for what it does not know */
export async function runShellCommand(line: string, parts: ShellCommandParts): Promise<boolean> {
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
      await run(argument === '' ? tablesOf(state.project) : columnsOf(argument, state.project))
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

function tablesOf(project: string): string {
  return `SELECT table_name AS name, lower(table_type) AS kind FROM information_schema.tables
    WHERE lower(table_schema) = lower(${text(project)}) ORDER BY 1`
}

function allTables(like: string): string {
  const condition =
    like === '' ? '' : `AND table_name ILIKE ${text(like.includes('%') ? like : `%${like}%`)}`
  return `SELECT table_schema AS "in", table_name AS name, lower(table_type) AS kind
    FROM information_schema.tables WHERE lower(table_schema) <> 'information_schema' ${condition} ORDER BY 1, 2`
}

/** `name`, `project.name`, quoted or not. */
function columnsOf(argument: string, project: string): string {
  const parts = [...argument.matchAll(/"((?:[^"]|"")*)"|`([^`]*)`|([^.]+)/g)].map((part) => {
    return (part[1]?.replaceAll('""', '"') ?? part[2] ?? part[3] ?? '').trim()
  })
  const table = parts.at(-1) ?? argument
  const schema = parts.length > 1 ? parts.slice(0, -1).join('.') : project
  return `SELECT column_name AS "column", data_type AS type, column_comment AS comment FROM information_schema.columns
    WHERE lower(table_name) = lower(${text(table)}) AND lower(table_schema) = lower(${text(schema)})
    ORDER BY ordinal_position`
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}

function identifier(name: string): string {
  return /^(?:["`]|[A-Za-z_]\w*$)/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}
