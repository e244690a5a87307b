/** What `eider <command>` can do. A new command is one entry here. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, StartError } from '../errors.ts'
import { restore } from '../store/backup/restore.ts'
import { salvage } from '../store/backup/salvage.ts'
import { DATABASE_FILE } from '../store/duckdb/database.ts'
import { forgetMark } from '../store/duckdb/log-mark.ts'
import type { HttpClient } from './http-client.ts'

export interface CommandContext {
  /** What follows the command's name, without options. */
  readonly words: readonly string[]
  /** `--name value`. */
  readonly options: ReadonlyMap<string, string>
  readonly client: HttpClient
  /** To stderr, while it goes on. */
  readonly say: (line: string) => void
}

/** What a command answers: for people, and as JSON where `--json` asks for it. */
export interface CommandResult {
  readonly lines: readonly string[]
  readonly json: unknown
}

export interface Command {
  readonly usage: string
  readonly summary: string
  /** How many words it takes. */
  readonly wordCount: number
  /** Each takes a value. */
  readonly options?: readonly string[]
  readonly run: (context: CommandContext) => Promise<CommandResult>
}

interface BackupRecord {
  readonly name: string
  readonly size_bytes: number
  readonly created_at: string
  readonly row_count: number
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  status: {
    usage: 'status',
    summary: 'version and state of the server',
    wordCount: 0,
    async run({ client }) {
      const status = await client.send('GET', '/api/status')
      return { lines: shownLines(status), json: status }
    },
  },
  backup: {
    usage: 'backup',
    summary: 'make a backup of everything, while the server runs',
    wordCount: 0,
    async run({ client }) {
      // The server's own answer, whose form its routes define.
      const backup = (await client.send('POST', '/api/backup')) as BackupRecord
      return { lines: [backupLine(backup)], json: backup }
    },
  },
  backups: {
    usage: 'backups',
    summary: 'list the backups, the newest first',
    wordCount: 0,
    async run({ client }) {
      // As above.
      const backups = (await client.send('GET', '/api/backups')) as readonly BackupRecord[]
      const lines = backups.map(backupLine)
      return { lines: lines.length === 0 ? ['There are no backups'] : lines, json: backups }
    },
  },
  restore: {
    usage: 'restore <backup> --data <folder> [--key <file>]',
    summary: 'make a data folder of the folder of a backup, and check it',
    wordCount: 1,
    options: ['data', 'key'],
    async run({ words: [backup = ''], options }) {
      const folder = required(options, 'data')
      const manifest = await restore({ backup, folder, key: options.get('key') })
      const { tables, files: _, ...shown } = manifest
      const rows = tables.reduce((sum, { rowCount }) => sum + rowCount, 0)
      const done = `Restored into ${folder}: ${rows} rows in ${tables.length} tables`
      return { lines: [done, ...shownLines(shown)], json: manifest }
    },
  },
  salvage: {
    usage: 'salvage <data folder> --to <folder>',
    summary: 'save what can be read of a damaged data folder',
    wordCount: 1,
    options: ['to'],
    async run({ words: [folder = ''], options, say }) {
      const target = required(options, 'to')
      const report = await salvage(folder, target, say)
      const rows = report.tables.reduce((sum, table) => sum + table.rows, 0)
      const saved = `Saved ${rows} rows of ${report.tables.length} tables into ${target}`
      return { lines: [...report.damage.map((what) => `Damaged: ${what}`), saved], json: report }
    },
  },
  'accept-loss': {
    usage: 'accept-loss <data folder>',
    summary: 'let a data folder start whose log was lost, with what is left',
    wordCount: 1,
    async run({ words: [folder = ''] }) {
      if (!existsSync(join(folder, DATABASE_FILE))) {
        throw new StartError(`${folder} has no ${DATABASE_FILE}: restore a backup`)
      }
      forgetMark(folder)
      const line = `${folder} starts with what is left; nobody can tell any more what was lost`
      return { lines: [line], json: { folder } }
    },
  },
}

function required(options: ReadonlyMap<string, string>, name: string): string {
  const value = options.get(name)
  if (value !== undefined) return value
  throw new AppError('invalid_request', `--${name} <folder> is missing`)
}

function backupLine({ name, size_bytes: bytes, created_at: at, row_count: rows }: BackupRecord) {
  return `${name}  ${at.slice(0, 19)} UTC  ${(bytes / 1024 ** 2).toFixed(1)} MiB  ${rows} rows`
}

/** `name: value`, a line each. */
function shownLines(value: unknown, prefix = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [`${prefix}: ${String(value)}`]
  return Object.entries(value).flatMap(([key, inner]) => {
    return shownLines(inner, prefix === '' ? key : `${prefix}.${key}`)
  })
}

/** The words and options of a command line. @throws AppError `invalid_request` that says what is wrong */
export function parseWords(
  name: string,
  command: Command,
  args: readonly string[],
): Pick<CommandContext, 'words' | 'options'> {
  const refuse = (why: string) => {
    return new AppError('invalid_request', `${name}: ${why}. Usage: eider ${command.usage}`)
  }
  const words: string[] = []
  const options = new Map<string, string>()
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? ''
    if (!arg.startsWith('--')) {
      words.push(arg)
      continue
    }
    const [option = '', inline] = arg.slice(2).split(/=(.*)/s)
    if (!command.options?.includes(option)) throw refuse(`there is no option --${option}`)
    const value = inline ?? args[++index]
    if (value === undefined) throw refuse(`--${option} needs a value`)
    options.set(option, value)
  }
  if (words.length !== command.wordCount) {
    const expected = command.wordCount === 1 ? '1 word' : `${command.wordCount} words`
    throw refuse(`expected ${expected} after it, found ${words.length}`)
  }
  return { words, options }
}
