import { existsSync } from 'node:fs'
import { copyFile, link, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  chunkTableName,
  fileTable,
  projectSchema,
  projectTable,
} from '../../core/domain/document.ts'
import { quote } from '../../core/domain/names.ts'
import { StartError, systemCodeOf } from '../../core/errors.ts'
import { DATABASE_FILE } from '../duckdb/database.ts'
import { lockConflict } from '../duckdb/locked-instance.ts'

interface FoundTable {
  readonly schema: string
  readonly name: string
}

export interface FoundTables {
  readonly tables: readonly FoundTable[]
  /** Catalog rows by table, without encrypted columns. Tables that cannot be read are left out. */
  readonly catalog: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>
}

export interface ExportedTable {
  readonly rows: number
  readonly lostRows: number
}

interface SalvagedTable {
  readonly file: string
  readonly rows: number
  /** The number of rows that could not be read, or null if unknown. */
  readonly lostRows: number | null
}

/** Give up on a table after this many crashes of the reading process. */
const CRASHES_MAX = 50

/**
 * Saves the readable parts of a damaged data folder, which is not changed: knowledge base chunks as
 * JSON lines, tables and uploaded files as Parquet, and all definitions without secrets. Separate
 * processes do the reading, because DuckDB may crash.
 * @throws StartError if nothing can be read
 */
export async function salvage(
  folder: string,
  target: string,
  say: (line: string) => void,
): Promise<{
  /** False if the write-ahead log could not be read, so its changes are lost. */
  readonly withLog: boolean
  /** Why the log or a table could not be read. */
  readonly damage: readonly string[]
  readonly tables: readonly SalvagedTable[]
}> {
  await prepareTarget(target)
  const scratch = join(target, '.scratch')
  await mkdir(scratch, { mode: 0o700 })
  try {
    const source = await readableSource(resolve(folder), scratch)
    const { found, damage } = source
    const { definitions, names } = definitionsOf(found)
    await writeFile(join(target, 'definitions.json'), `${JSON.stringify(definitions, null, 2)}\n`)
    const tables: SalvagedTable[] = []
    const failures = [...damage]
    for (const table of found.tables) {
      const file = fileNameOf(table, names)
      if (file === undefined) continue
      await mkdir(join(target, file, '..'), { recursive: true, mode: 0o700 })
      const outcome = await exported(source.file, table, join(target, file))
      if (outcome.failure !== undefined) failures.push(`${file}: ${outcome.failure}`)
      tables.push({ file, rows: outcome.rows, lostRows: outcome.lostRows })
      say(`${file}: ${outcome.rows} rows, ${outcome.lostRows ?? 'all others'} lost`)
    }
    const report = { withLog: source.withLog, damage: failures, tables }
    await writeFile(join(target, 'report.json'), `${JSON.stringify(report, null, 2)}\n`)
    return report
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function prepareTarget(target: string): Promise<void> {
  await mkdir(target, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw new StartError(`${target} cannot be created: ${systemCodeOf(error)}`, error)
  })
  if ((await readdir(target)).length === 0) return
  throw new StartError(`${resolve(target)} is not empty: name an empty or a new folder with --to`)
}

/** Opens the database with its write-ahead log, or without the log if that is damaged. */
async function readableSource(folder: string, scratch: string) {
  const file = join(folder, DATABASE_FILE)
  if (!existsSync(file)) throw new StartError(`${folder} has no ${DATABASE_FILE}`)
  const whole = await read<FoundTables>(['list', file])
  if ('result' in whole) return { file, withLog: true, found: whole.result, damage: [] }
  const conflict = lockConflict(new Error(whole.error), folder)
  if (conflict !== undefined) throw conflict
  // Copied under another name, the file has no log next to it. A symbolic link would not do: DuckDB
  // follows it to the original and its log.
  const alone = join(scratch, DATABASE_FILE)
  await link(file, alone).catch(() => copyFile(file, alone))
  const bare = await read<FoundTables>(['list', alone])
  if ('result' in bare) {
    return { file: alone, withLog: false, found: bare.result, damage: [`the log: ${whole.error}`] }
  }
  throw new StartError(`Nothing of ${file} can be read: ${bare.error}. Restore a backup`)
}

/**
 * What the reading process printed last. If it crashed, this is the range of rows it was reading.
 */
type ReaderOutcome<T> =
  | { readonly result: T }
  | { readonly error: string; readonly crashedAt?: number }

async function read<T>(args: readonly string[]): Promise<ReaderOutcome<T>> {
  const reader = join(import.meta.dir, 'salvage-reader.ts')
  const child = Bun.spawn([process.execPath, ...process.execArgv, reader, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const lines = (await new Response(child.stdout).text()).trim().split('\n')
  await child.exited
  const last = lines.at(-1) ?? ''
  // The output is trusted because the reading process is part of this program.
  if (last.startsWith('{')) return JSON.parse(last) as ReaderOutcome<T>
  const error = `the process that read it ended (${child.signalCode ?? child.exitCode})`
  return last === '' ? { error } : { error, crashedAt: Number(last) }
}

async function exported(
  file: string,
  { schema, name }: FoundTable,
  target: string,
): Promise<SalvagedTable & { readonly failure?: string }> {
  const skipped: number[] = []
  const table = `${quote(schema)}.${quote(name)}`
  for (;;) {
    const outcome = await read<ExportedTable>([
      'export',
      file,
      table,
      target,
      ...skipped.map(String),
    ])
    if ('result' in outcome) return { file: target, ...outcome.result }
    const { error, crashedAt } = outcome
    const isAgain = crashedAt !== undefined && skipped.length < CRASHES_MAX
    if (!isAgain) {
      await rm(target, { force: true })
      return { file: target, rows: 0, lostRows: null, failure: error }
    }
    // The first run reads the whole table and reports row 0, so its crash does not show which rows
    // are damaged. -1 makes the next run read range by range.
    skipped.push(skipped.length === 0 ? -1 : crashedAt)
  }
}

type Definition = Readonly<Record<string, unknown>>

/** Returns all definitions that can be read without the key. */
function definitionsOf({ catalog }: FoundTables) {
  const rowsOf = (table: string): readonly Definition[] => catalog[table] ?? []
  const definitions = {
    projects: rowsOf('projects'),
    knowledge_bases: rowsOf('knowledge_bases'),
    agents: rowsOf('agents'),
    views: rowsOf('views'),
    tables: rowsOf('tables'),
    files: rowsOf('files'),
  }
  const projectName = (id: unknown) => {
    return String(definitions.projects.find((project) => project.id === id)?.name ?? id)
  }
  const names = new Map<string, string>()
  for (const kb of definitions.knowledge_bases) {
    const ids = { id: Number(kb.id), vectorsNumber: Number(kb.vectors_number ?? 0) }
    const table = `${projectSchema(Number(kb.project_id))}.${chunkTableName(ids, 'chunks')}`
    names.set(table, `knowledge_bases/${safe(`${projectName(kb.project_id)}.${kb.name}`)}`)
  }
  for (const table of definitions.tables) {
    const key = `${projectSchema(Number(table.project_id))}.${projectTable(Number(table.id))}`
    names.set(key, `tables/${safe(`${projectName(table.project_id)}.${table.name}`)}`)
  }
  for (const file of definitions.files) {
    names.set(`uploaded.${fileTable(Number(file.id))}`, `files/${safe(String(file.name))}`)
  }
  return { definitions, names }
}

/** Makes any name safe to use in a path. */
function safe(name: string): string {
  return name
    .replaceAll(/[^\p{L}\p{N}._-]/gu, '_')
    .replace(/^\.+/, '_')
    .slice(0, 120)
}

/** Undefined if it holds only derived data. Unlisted tables keep their SQL name. */
function fileNameOf(
  { schema, name }: FoundTable,
  names: ReadonlyMap<string, string>,
): string | undefined {
  if (schema === 'eider' || /^kb_\d+_(?!chunks)/.test(name)) return undefined
  const ending = /^kb_\d+_chunks/.test(name) ? 'jsonl' : 'parquet'
  const known = names.get(`${schema}.${name}`)
  // The table name prevents two names that differ only in replaced characters from colliding.
  const path = known === undefined ? `unnamed/${schema}.${name}` : `${known}-${name}`
  return `${path}.${ending}`
}
