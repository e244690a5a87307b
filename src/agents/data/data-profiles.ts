/** What is worth knowing of an agent's data before the first tool call: sizes, columns, some values. */
import type { CatalogSnapshot } from '../../domain/catalog-snapshot.ts'
import { nameKey, quote } from '../../domain/identifier.ts'
import { FILES_DATABASE } from '../../domain/project.ts'
import type { ResultValue } from '../../domain/query-result.ts'
import { tablesOfFile } from '../../domain/uploaded-file.ts'
import { AppError } from '../../errors.ts'
import { startDeadline } from '../../runtime/cancellation.ts'
import { LruMap } from '../../runtime/lru-map.ts'
import { AGENT_LIMITS, firstBytes } from '../agent-limits.ts'
import { type AvailableData, fullName } from './agent-data.ts'
import { type DataReader, dataReader, type Select, sqlName, sqlTableName } from './data-reader.ts'

/** A knowledge base or table, and what of the catalog its profile is of. */
interface Source {
  readonly name: string
  /** One that takes the name of another has another key. */
  readonly key: string
  readonly from: string
  /** Another version has another one. */
  readonly version: string
  readonly columns: readonly SourceColumn[]
  /** null: nobody knows without counting. */
  readonly rowCount: number | null
  readonly unit: 'chunks' | 'rows'
  /** A view may be a long statement: it is not run for this. */
  readonly isRead: boolean
}

interface SourceColumn {
  readonly name: string
  /** Empty: not known without reading. */
  readonly type: string
}

interface Profile {
  readonly version: string
  readonly madeMs: number
  readonly text: string
}

const PROFILES_MAX = 2_000
/** Sources that change all the time are described as they were so long ago. */
const FRESH_MS = 5_000
/** For all sources of a question together; what is not ready then is told by name and columns. */
const READING_MS = 1_000
const SAMPLE_ROWS = 100
const COLUMNS_MAX = 20
const VALUES_MAX = 4
const RANGES_ROWS_MAX = 100_000

/** Descriptions are made once for each version of a source and kept: a question waits for them the first time only. */
export class DataProfiles {
  readonly #select: Select
  readonly #nowMs: () => number
  readonly #reading = new Map<string, Promise<void>>()
  readonly #profiles = new LruMap<string, Profile>({ sizeMax: PROFILES_MAX })

  constructor(select: Select, nowMs: () => number = () => performance.now()) {
    this.#select = select
    this.#nowMs = nowMs
  }

  /** The same data with a line on each of the first sources. Never fails because of one. @throws the signal's reason */
  async described(
    data: AvailableData,
    snapshot: CatalogSnapshot,
    project: string,
    signal: AbortSignal,
  ): Promise<AvailableData> {
    const sources = sourcesOf(data, snapshot).slice(0, AGENT_LIMITS.promptNamesMax)
    const { knowledgeBases, tables } = data
    const reader = dataReader({ project, allowed: { knowledgeBases, tables } }, this.#select)
    const missing = sources.filter((source) => !this.#isFresh(source))
    if (missing.length > 0) await this.#read(missing, reader, signal)
    const descriptions = new Map<string, string>()
    for (const source of sources) {
      const profile = this.#profiles.get(source.key)
      descriptions.set(source.name, profile?.text ?? lineOf(source, new Map()))
    }
    return { ...data, descriptions: withinBytes(descriptions) }
  }

  #isFresh({ key, version }: Source): boolean {
    const profile = this.#profiles.get(key)
    if (profile === undefined) return false
    return profile.version === version || this.#nowMs() - profile.madeMs < FRESH_MS
  }

  /** One after the other; what another question is reading already is waited for. */
  async #read(sources: readonly Source[], reader: DataReader, signal: AbortSignal): Promise<void> {
    const late = () => new AppError('timeout', 'Descriptions of data took too long')
    const deadline = startDeadline({ timeoutMs: READING_MS, signals: [signal], timeoutError: late })
    try {
      for (const source of sources) {
        const { key } = source
        const reading = this.#reading.get(key) ?? this.#readOne(source, reader, deadline.signal)
        this.#reading.set(key, reading)
        await reading.finally(() => this.#reading.delete(key))
        signal.throwIfAborted()
      }
    } finally {
      deadline.end()
    }
  }

  async #readOne(source: Source, reader: DataReader, signal: AbortSignal): Promise<void> {
    try {
      this.#keep(source, await readProfile(source, reader, signal))
    } catch (error) {
      if (!(error instanceof AppError || signal.aborted)) throw error
      // Not asked for again at once: what fails or takes long now does so for the next question as well.
      this.#keep({ ...source, version: '' }, lineOf(source, new Map()))
    }
  }

  #keep({ key, version }: Source, text: string): void {
    this.#profiles.set(key, { version, madeMs: this.#nowMs(), text })
  }
}

function sourcesOf(data: AvailableData, snapshot: CatalogSnapshot): readonly Source[] {
  const tables = new Map<string, Source>()
  const add = (name: string, source: Omit<Source, 'name' | 'from' | 'unit'>) => {
    tables.set(nameKey(name), { ...source, name, from: sqlTableName(name), unit: 'rows' })
  }
  for (const file of snapshot.files) {
    for (const { name, columns, rowCount } of tablesOfFile(file)) {
      const named = columns.map((column) => ({ name: column, type: '' }))
      const key = `file ${file.id} ${name}`
      add(`${FILES_DATABASE}.${name}`, {
        key,
        version: file.createdAt,
        columns: named,
        rowCount,
        isRead: true,
      })
    }
  }
  for (const { id, projectName, name, columns, rowCount } of snapshot.tables) {
    const key = `table ${id}`
    add(`${projectName}.${name}`, { key, version: `${rowCount}`, columns, rowCount, isRead: true })
  }
  for (const { id, projectName, name, columns, updatedAt } of snapshot.views) {
    const key = `view ${id}`
    add(`${projectName}.${name}`, {
      key,
      version: updatedAt,
      columns,
      rowCount: null,
      isRead: false,
    })
  }
  const kbs = data.knowledgeBases.map(
    (kb): Source => ({
      name: fullName(kb),
      from: sqlName(kb),
      key: `knowledge base ${kb.id}`,
      version: `${kb.revision}`,
      columns: kb.storedMetadata,
      rowCount: null,
      unit: 'chunks',
      isRead: true,
    }),
  )
  return [...kbs, ...data.tables.flatMap((name) => tables.get(nameKey(name)) ?? [])]
}

/** Reads the first rows, and whole columns of numbers and dates where there are not too many rows. */
async function readProfile(
  source: Source,
  reader: DataReader,
  signal: AbortSignal,
): Promise<string> {
  const { from, unit } = source
  if (!source.isRead) return lineOf(source, new Map())
  const [[count] = []] = (await reader.read(`SELECT count(*) FROM ${from}`, signal)).rows
  const rowCount = Number(count)
  const names = source.columns.slice(0, COLUMNS_MAX).map(({ name }) => quote(name))
  if (names.length === 0 || rowCount === 0) return lineOf({ ...source, rowCount }, new Map())
  const sample = await reader.read(
    `SELECT ${names.join(', ')} FROM ${from} LIMIT ${SAMPLE_ROWS}`,
    signal,
    SAMPLE_ROWS,
  )
  const columns = source.columns.map(({ name, type }, index) => {
    return { name, type: type === '' ? (sample.types[index] ?? '') : type }
  })
  const values = new Map<string, string>()
  for (const [index, { name }] of columns.slice(0, COLUMNS_MAX).entries()) {
    const shown = shownValues(sample.rows.map((row) => row[index] ?? null))
    if (shown !== null) values.set(name, shown)
  }
  const ranged = columns.slice(0, COLUMNS_MAX).filter(({ type }) => RANGED.test(type))
  if (ranged.length > 0 && rowCount <= RANGES_ROWS_MAX) {
    const bounds = ranged.map(({ name }) => `min(${quote(name)}), max(${quote(name)})`)
    const [row = []] = (await reader.read(`SELECT ${bounds.join(', ')} FROM ${from}`, signal)).rows
    for (const [index, { name }] of ranged.entries()) {
      const [lowest, highest] = [row[index * 2], row[index * 2 + 1]].map(harmlessValue)
      if (lowest && highest)
        values.set(name, lowest === highest ? lowest : `${lowest} to ${highest}`)
    }
  }
  return lineOf({ ...source, columns, rowCount, unit }, values)
}

const RANGED =
  /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT|INTEGER|UINTEGER|FLOAT|DOUBLE|DECIMAL|DATE|TIMESTAMP)/i

/** The values that come most, of those short enough to say something. */
function shownValues(cells: readonly ResultValue[]): string | null {
  const counts = new Map<string, number>()
  for (const cell of cells.flatMap((value) => (Array.isArray(value) ? value : [value]))) {
    const text = harmlessValue(cell)
    if (text !== null) counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  const frequent = [...counts].sort(([, one], [, other]) => other - one).slice(0, VALUES_MAX)
  if (frequent.length === 0) return null
  return `e.g. ${frequent.map(([text]) => text).join(', ')}`
}

/** Strangers may have written values: a prompt holds none that could be read as a sentence. */
const HARMLESS = /^[\p{L}\p{N}+-][\p{L}\p{N}_.:@+-]*(?: [\p{L}\p{N}_.:@+-]+){0,2}$/u
const VALUE_CHARS_MAX = 26

function harmlessValue(value: ResultValue | undefined): string | null {
  if (value === null || value === undefined || typeof value === 'object') return null
  const text = String(value)
  if (text.length > VALUE_CHARS_MAX || !HARMLESS.test(text)) return null
  return typeof value === 'string' && !/^\d/.test(text) ? `'${text}'` : text
}

const NAME_CHARS_MAX = 80

function harmlessName(name: string): string {
  const short =
    name.length > NAME_CHARS_MAX ? `${name.slice(0, NAME_CHARS_MAX).toWellFormed()}…` : name
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(short) ? short : JSON.stringify(short)
}

function lineOf(source: Source, values: ReadonlyMap<string, string>): string {
  const { rowCount, unit, columns } = source
  const shown = columns.slice(0, COLUMNS_MAX).map(({ name, type }) => {
    const value = values.get(name)
    const typed = type === '' ? harmlessName(name) : `${harmlessName(name)} ${type}`
    return value === undefined ? typed : `${typed} (${value})`
  })
  const rest = columns.length - shown.length
  const more = rest === 0 ? '' : ` and ${rest} more`
  const kind = unit === 'chunks' ? 'metadata columns' : 'columns'
  const size = rowCount === null ? '' : `, ${rowCount} ${unit}`
  const list = columns.length === 0 ? '' : `, ${kind}: ${shown.join(', ')}${more}`
  return firstBytes(`${source.name}${size}${list}`, LINE_BYTES_MAX)
}

const LINE_BYTES_MAX = 1_000
/** Of all lines. */
const BYTES_MAX = 16_384

/** Lines as far as there is room; the other sources are told by their names. */
function withinBytes(lines: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  let left = BYTES_MAX
  return new Map(
    [...lines].filter(([, line]) => {
      left -= Buffer.byteLength(line)
      return left >= 0
    }),
  )
}
