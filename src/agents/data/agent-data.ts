import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { Agent, AllowedData } from '../../core/domain/agents/agent.ts'
import {
  AGENT_LIMITS,
  byteSize,
  firstBytes,
  firstChars,
} from '../../core/domain/agents/agent-limits.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { FILES_DATABASE, fullName, literal, nameKey, quote } from '../../core/domain/names.ts'
import type { ResultValue, RowStream } from '../../core/domain/query-result.ts'
import { namesWithoutEnding, tablesOfFile } from '../../core/domain/uploaded-file.ts'
import { textOfValue } from '../../core/json.ts'
import { csvRow } from '../../core/text/csv.ts'
import { matchesGlob, NO_REMOTE_TABLES, type RemoteTableNames } from './remote-table-names.ts'

/** What an agent's `data` currently refers to. */
export interface AvailableData extends AllowedData {
  /** One sentence for each pattern without a match. */
  readonly warnings: readonly string[]
  readonly descriptions?: ReadonlyMap<string, string>
}

/** Without `data`, the agent may read nothing. Patterns are matched for each question. */
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
    ...(agent.data === null ? [`Agent ${agent.name} has no data to read`] : []),
  ]
  return { knowledgeBases: kbs.matches, tables: tables.matches, warnings }
}

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

/** Splits `project.kb`; an unqualified name belongs to the given project. Names contain no dots. */
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

/** The knowledge bases whose names appear in the text, even in strings and comments. */
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
    // An unqualified name refers first to the agent's own project.
    const isTaken = knowledgeBases.some((other) => {
      return nameKey(other.projectName) === home && nameKey(other.name) === nameKey(kb.name)
    })
    return nameKey(kb.projectName) === home || !isTaken
  })
}

/** Whether a name appears in a text, but not inside a longer name or after a qualifier. */
function standsIn(text: string, name: string): boolean {
  for (let start = text.indexOf(name); start !== -1; start = text.indexOf(name, start + 1)) {
    const before = text.slice(Math.max(0, start - 1), start)
    const after = text.slice(start + name.length, start + name.length + 1)
    if (!/[\p{L}\p{N}_.]/u.test(before) && !/[\p{L}\p{N}_]/u.test(after)) return true
  }
  return false
}

export interface SelectScope {
  readonly project: string
  readonly allowed: AllowedData
  /** The namespaces that views may read; unset means all. */
  readonly within?: readonly string[] | undefined
}

/** @throws AppError `sql_…`, `timeout`, `too_busy`, or `provider_failed` if embedding fails */
export type Select = (sql: string, scope: SelectScope, signal: AbortSignal) => Promise<RowStream>

export interface TypedRows extends FirstRows {
  /** One DuckDB type per column. */
  readonly types: readonly string[]
}

/** Reads the data of one agent. */
export interface DataReader {
  readonly scope: SelectScope
  /** By default as many rows as a model sees, and whether there are more. */
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

export function sqlName(kb: KnowledgeBase): string {
  return `${quote(kb.projectName)}.${quote(kb.name)}`
}

/** The stored chunks with these ids, each with the index of its knowledge base in the list. */
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

/** The first rows of a result, as many as the model sees. */
export interface FirstRows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ResultValue[])[]
  readonly hasMore: boolean
}

/** Reads at most `rowsMax` rows, then ends the statement, which frees the connection. */
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
 * CSV with a header (RFC 4180). The first line says what was left out. `byteSize(text) <=
 * bytesMax`.
 */
export function observationOf(
  result: FirstRows,
  limits: ObservationLimits,
): {
  readonly text: string
  /** How many rows the text contains. */
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

/** Space for the note about what was left out. */
const NOTE_BYTES = 160

function noteOf(cut: 'bytes' | 'rows' | 'nothing', shownCount: number, limits: ObservationLimits) {
  if (cut === 'nothing') return ''
  const limit = cut === 'rows' ? `${limits.rowsMax} rows` : `${limits.bytesMax} bytes`
  const advice = 'Select fewer columns, filter or aggregate to see the rest'
  return `The first ${shownCount} rows, cut at ${limit}; there are more. ${advice}.\n`
}

/** As many rows as fit. The first is shortened if necessary, so that something is always shown. */
function fittingLines({ columns, rows }: FirstRows, roomBytes: number): readonly string[] {
  const lines: string[] = []
  let left = roomBytes
  for (const row of rows) {
    const whole = csvLine(
      row.map((value) => textOfValue(value)),
      AGENT_LIMITS.cellCharsMax,
    )
    const line = lines.length === 0 && byteSize(whole) > left ? shortLine(row, left) : whole
    if (byteSize(line) > left) break
    lines.push(line)
    left -= byteSize(line)
  }
  return columns.length === 0 ? [] : lines
}

/** The most UTF-8 bytes per code unit, and the space for quotes and the truncation note. */
const CHAR_BYTES_MAX = 3
const CELL_OVERHEAD_BYTES = 40

function shortLine(row: readonly ResultValue[], roomBytes: number): string {
  const share = roomBytes / row.length - CELL_OVERHEAD_BYTES
  return csvLine(
    row.map((value) => textOfValue(value)),
    Math.max(0, Math.floor(share / CHAR_BYTES_MAX)),
  )
}

function csvLine(cells: readonly string[], cellCharsMax: number): string {
  return csvRow(cells.map((cell) => (cell === '' ? null : cutCell(cell, cellCharsMax))))
}

function cutCell(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const shown = firstChars(text, charsMax)
  return `${shown}… (${text.length - shown.length} more characters)`
}
