import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { Agent, AllowedData } from '../../core/domain/agents/agent.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { FILES_DATABASE, fullName, literal, nameKey, quote } from '../../core/domain/names.ts'
import type { ResultValue, RowStream } from '../../core/domain/query-result.ts'
import { csvRow } from '../../core/domain/shown-values.ts'
import { namesWithoutEnding, tablesOfFile } from '../../core/domain/uploaded-file.ts'
import { AGENT_LIMITS, byteSize, firstBytes, firstChars } from '../agent-limits.ts'
import { matchesGlob, NO_REMOTE_TABLES, type RemoteTableNames } from './remote-table-names.ts'

/** What an agent's `data` names at this moment. */
export interface AvailableData extends AllowedData {
  /** One sentence for each pattern that matches nothing. */
  readonly warnings: readonly string[]
  /** Descriptions of knowledge bases and tables, by name. */
  readonly descriptions?: ReadonlyMap<string, string>
}

/**
 * Only what `data` names: an agent without it may read nothing. Each question matches the patterns again.
 */
export function agentData(
  agent: Agent,
  snapshot: CatalogSnapshot,
  remote: RemoteTableNames = NO_REMOTE_TABLES,
): AvailableData {
  const { knowledgeBases: kbPatterns, tables: tablePatterns } = agent.data ?? NO_DATA
  const isMatch = agent.data?.isExact === true ? isSameName : matchesGlob
  const kbs = matchesOf(kbPatterns, (pattern) => {
    const [project, name] = qualifiedName(pattern, agent.projectName)
    return snapshot.knowledgeBases.filter((kb) => {
      return isMatch(project, kb.projectName) && isMatch(name, kb.name)
    })
  })
  const tables = matchesOf(tablePatterns, (pattern) => {
    const [source, name] = qualifiedName(pattern, '')
    const own = allTables(snapshot).flatMap((table) => {
      const names = [table.name, ...table.otherNames]
      const isNamed = isMatch(source, table.source) && names.some((one) => isMatch(name, one))
      return isNamed ? [`${table.source}.${table.name}`] : []
    })
    return [...own, ...(remote.byPattern.get(pattern) ?? [])]
  })
  const warnings = [
    ...kbs.missing.map((pattern) => `No knowledge base found: ${pattern}`),
    ...tables.missing.map((pattern) => `No table found: ${pattern}`),
    ...remote.warnings,
    ...(agent.data === null ? [`Agent ${agent.name} has no data: it may read nothing`] : []),
  ]
  return { knowledgeBases: kbs.matches, tables: tables.matches, warnings }
}

/** Uploaded files, and the tables and views of projects. */
function allTables({ files, tables, views }: CatalogSnapshot) {
  return [
    ...files.flatMap(tablesOfFile).map(({ name, index }) => ({
      source: FILES_DATABASE,
      name,
      otherNames: index === 0 ? namesWithoutEnding(name) : [],
    })),
    ...[...tables, ...views].map(({ projectName, name }) => {
      return { source: projectName, name, otherNames: [] }
    }),
  ]
}

function isSameName(name: string, other: string): boolean {
  return nameKey(name) === nameKey(other)
}

const NO_DATA = { knowledgeBases: [], tables: [] }

/** `project.kb`; a name alone belongs to the given project. Names hold no dot. */
function qualifiedName(pattern: string, project: string): readonly [string, string] {
  const [first = '', ...rest] = pattern.split('.')
  return rest.length === 0 ? [project, first] : [first, rest.join('.')]
}

function matchesOf<T>(patterns: readonly string[], find: (pattern: string) => readonly T[]) {
  const matches = new Set<T>()
  const missing: string[] = []
  for (const pattern of patterns) {
    const own = find(pattern)
    if (own.length === 0) missing.push(pattern)
    for (const match of own) matches.add(match)
  }
  return { matches: [...matches], missing }
}

/**
 * Knowledge bases a statement may read, by the names in it, even in strings and comments.
 * @param project of names without a qualifier
 */
export function namedKnowledgeBases(
  sql: string,
  knowledgeBases: readonly KnowledgeBase[],
  project: string,
): readonly KnowledgeBase[] {
  const unquoted = nameKey(sql).replaceAll(/["`]/g, '')
  const text = unquoted
    .split('.')
    .map((part) => part.trim())
    .join('.')
  const home = nameKey(project)
  return knowledgeBases.filter((kb) => {
    if (standsIn(text, nameKey(fullName(kb)))) return true
    if (!standsIn(text, nameKey(kb.name))) return false
    // An unqualified name first means the agent's own project.
    const isTaken = knowledgeBases.some((other) => {
      return nameKey(other.projectName) === home && nameKey(other.name) === nameKey(kb.name)
    })
    return nameKey(kb.projectName) === home || !isTaken
  })
}

/** Whether a name appears in a text, not inside a longer name and not after a qualifier. */
function standsIn(text: string, name: string): boolean {
  for (let start = text.indexOf(name); start !== -1; start = text.indexOf(name, start + 1)) {
    const before = text.slice(Math.max(0, start - 1), start)
    const after = text.slice(start + name.length, start + name.length + 1)
    if (!/[\p{L}\p{N}_.]/u.test(before) && !/[\p{L}\p{N}_]/u.test(after)) return true
  }
  return false
}

export interface SelectScope {
  /** The project of names without a qualifier. */
  readonly project: string
  readonly allowed: AllowedData
  /** The namespaces its views may read; unset: all. */
  readonly within?: readonly string[] | undefined
}

/**
 * Runs one statement if it is a SELECT over what is allowed.
 * @throws AppError of the `sql_…` group, `timeout`, `too_busy`, `provider_failed` when a text
 * cannot be embedded
 */
export type Select = (sql: string, scope: SelectScope, signal: AbortSignal) => Promise<RowStream>

export interface TypedRows extends FirstRows {
  /** DuckDB's names, one for each column. */
  readonly types: readonly string[]
}

/** Reads what one agent may read. */
export interface DataReader {
  readonly scope: SelectScope
  /** The first rows of a statement's result, by default as many as a model is shown, and whether there are more. */
  read(sql: string, signal: AbortSignal, rowsMax?: number): Promise<TypedRows>
}

export function dataReader(scope: SelectScope, select: Select): DataReader {
  return {
    scope,
    async read(sql, signal, rowsMax = AGENT_LIMITS.observationRowsMax) {
      const stream = await select(sql, scope, signal)
      const types = stream.columns.map((column) => column.type)
      const rows = await readRows(stream, rowsMax, signal)
      return { ...rows, types }
    },
  }
}

/** The quoted full name: `"project"."kb"`. */
export function sqlName(kb: KnowledgeBase): string {
  return `${quote(kb.projectName)}.${quote(kb.name)}`
}

/** The same for a table or view, also one of a data source: `"shop"."public"."orders"`. */
export function sqlTableName(table: string): string {
  const [first = '', ...rest] = table.split('.')
  // Only the name of a file may have dots itself.
  const parts = nameKey(first) === FILES_DATABASE ? [rest.join('.')] : rest
  return [first, ...parts].map(quote).join('.')
}

/** The stored chunks with these ids, each with the number of its knowledge base in the list. */
export function selectChunks(
  wanted: readonly { readonly kb: KnowledgeBase; readonly chunkIds: readonly string[] }[],
): string {
  const selects = wanted.map(({ kb, chunkIds }, index) => {
    const ids = chunkIds.map((chunkId) => literal(chunkId)).join(', ')
    const columns = `${index} AS source, id, chunk_id, chunk_content, metadata`
    return `SELECT ${columns} FROM ${sqlName(kb)} WHERE chunk_id IN (${ids})`
  })
  return selects.join(' UNION ALL ')
}

interface ObservationLimits {
  readonly rowsMax: number
  readonly bytesMax: number
}

/** The first rows of a result, as many as a model is shown. */
export interface FirstRows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ResultValue[])[]
  readonly hasMore: boolean
}

/** Reads at most `rowsMax` rows and drops the rest, which frees the connection. */
export async function readRows(
  stream: RowStream,
  rowsMax: number,
  signal: AbortSignal,
): Promise<FirstRows> {
  const columns = stream.columns.map((column) => column.name)
  const rows: (readonly ResultValue[])[] = []
  for await (const batch of stream.batches) {
    signal.throwIfAborted()
    rows.push(...batch.slice(0, rowsMax + 1 - rows.length))
    if (rows.length > rowsMax) break
  }
  signal.throwIfAborted()
  return { columns, rows: rows.slice(0, rowsMax), hasMore: rows.length > rowsMax }
}

/**
 * Rows as text for a model: the columns, then CSV (RFC 4180: `\r\n`, quotes doubled). The first line says what was left out.
 * `byteSize(text) <= bytesMax`.
 */
export function observationOf(
  result: FirstRows,
  limits: ObservationLimits,
): {
  readonly text: string
  /** How many of the rows the text contains. */
  readonly shownCount: number
} {
  const names = result.columns.map((name) => `'${name}'`).join(', ')
  const head = `Output columns: ${names}\nResult in CSV format (dialect is 'excel'):\n`
  const header = csvLine(result.columns, AGENT_LIMITS.cellCharsMax)
  const room = limits.bytesMax - byteSize(head) - byteSize(header) - NOTE_BYTES
  const lines = fittingLines(result, room)
  const cut = lines.length < result.rows.length ? 'bytes' : result.hasMore ? 'rows' : 'nothing'
  const text = `${noteOf(cut, lines.length, limits)}${head}${header}${lines.join('')}`
  return { text: firstBytes(text, limits.bytesMax), shownCount: lines.length }
}

/** Room for the note on what was left out. */
const NOTE_BYTES = 160

function noteOf(cut: 'bytes' | 'rows' | 'nothing', shownCount: number, limits: ObservationLimits) {
  if (cut === 'nothing') return ''
  const limit = cut === 'rows' ? `${limits.rowsMax} rows` : `${limits.bytesMax} bytes`
  const advice = 'Select less, filter or aggregate to see the rest'
  return `The first ${shownCount} rows, cut at ${limit}; there are more. ${advice}.\n`
}

/**
 * As many rows as fit. The first is shortened to fit, so that a long text never hides a whole result.
 */
function fittingLines({ columns, rows }: FirstRows, roomBytes: number): readonly string[] {
  const lines: string[] = []
  let left = roomBytes
  for (const row of rows) {
    const whole = csvLine(row.map(shownCell), AGENT_LIMITS.cellCharsMax)
    const line = lines.length === 0 && byteSize(whole) > left ? shortLine(row, left) : whole
    if (byteSize(line) > left) break
    lines.push(line)
    left -= byteSize(line)
  }
  return columns.length === 0 ? [] : lines
}

/**
 * Most UTF-8 bytes of one code unit, and the room for quotes and the note on a cut cell.
 */
const CHAR_BYTES_MAX = 3
const CELL_OVERHEAD_BYTES = 40

function shortLine(row: readonly ResultValue[], roomBytes: number): string {
  const share = roomBytes / row.length - CELL_OVERHEAD_BYTES
  return csvLine(row.map(shownCell), Math.max(0, Math.floor(share / CHAR_BYTES_MAX)))
}

function csvLine(cells: readonly string[], cellCharsMax: number): string {
  return csvRow(cells.map((cell) => (cell === '' ? null : cutCell(cell, cellCharsMax))))
}

function cutCell(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const shown = firstChars(text, charsMax)
  return `${shown}… (${text.length - shown.length} more characters)`
}

/** Nothing for NULL, JSON for lists and objects. */
function shownCell(value: ResultValue): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
