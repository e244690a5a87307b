/** Describes an agent's data before its first tool call: sizes, columns, some values. */

import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { AGENT_LIMITS, firstBytes } from '../../core/domain/agents/agent-limits.ts'
import { FILES_DATABASE, fullName, nameKey, quote, quotedPath } from '../../core/domain/names.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { tablesOfFile } from '../../core/domain/uploaded-file.ts'
import { AppError, shuttingDown } from '../../core/errors.ts'
import { abortable, type Deadline, startDeadline } from '../../core/runtime/cancellation.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { shortened } from '../../core/short-text.ts'
import type { AvailableData } from './agent-data.ts'
import { type DataReader, dataReader, type Select, sqlName } from './agent-data.ts'

/** A knowledge base or table, and the catalog data that identifies its description. */
interface Source {
  readonly name: string
  /** Different for a later source with the same name. */
  readonly key: string
  readonly from: string
  /** Different for each version of the source. */
  readonly version: string
  readonly columns: readonly SourceColumn[]
  /** null if the rows would have to be counted. */
  readonly rowCount: number | null
  readonly unit: 'chunks' | 'rows'
  /** False for a view, which may be an expensive statement and is not run for a description. */
  readonly isRead: boolean
}

interface SourceColumn {
  readonly name: string
  /** Empty if unknown without reading. */
  readonly type: string
}

interface Profile {
  readonly version: string
  readonly madeMs: number
  readonly text: string
  readonly columns: string
  /** null if the source was not read. */
  readonly rowCount: number | null
}

const PROFILES_MAX = 2_000
/** The maximum age of a small source's description, even if the source changes all the time. */
const SMALL_FRESH_MS = 5_000
const SMALL_ROWS = 100
/** Descriptions of larger tables are renewed after a question once they are this old. */
const FRESH_MS = 30_000
/** Descriptions older than this are not used; the question waits for a new one. */
const USABLE_MS = 600_000
/** Time limit for all sources of a question. One that is not ready is described by its columns. */
const READING_MS = 1_000
/** The time limit for renewing descriptions in the background, after a question. */
const RENEWING_MS = 10_000
const SAMPLE_ROWS = 100
const PROFILED_COLUMNS_MAX = 20
const EXAMPLES_MAX = 4
const RANGES_ROWS_MAX = 100_000

/**
 * A question waits for a source's first description and for changed columns, not for newer data.
 */
export class DataProfiles {
  readonly #select: Select
  readonly #nowMs: () => number
  readonly #reading = new Map<string, Promise<void>>()
  readonly #closing = new AbortController()
  readonly #profiles = new LruMap<string, Profile>({ sizeMax: PROFILES_MAX })

  constructor(select: Select, nowMs: () => number = () => performance.now()) {
    this.#select = select
    this.#nowMs = nowMs
  }

  /** Adds a line about each of the first sources, if it can be read. @throws the signal's reason */
  async described(
    data: AvailableData,
    snapshot: CatalogSnapshot,
    project: string,
    signal: AbortSignal,
  ): Promise<AvailableData> {
    const sources = sourcesOf(data, snapshot).slice(0, AGENT_LIMITS.promptNamesMax)
    const { knowledgeBases, tables } = data
    const reader = dataReader({ project, allowed: { knowledgeBases, tables } }, this.#select)
    const ages = Map.groupBy(sources, (source) => this.#ageOf(source))
    const missing = ages.get('missing') ?? []
    if (missing.length > 0) await this.#read(missing, reader, { timeoutMs: READING_MS, signal })
    const old = (ages.get('old') ?? []).filter((source) => !this.#reading.has(readingKey(source)))
    if (old.length > 0) this.#renew(old, reader)
    const descriptions = new Map<string, string>()
    for (const source of sources) {
      const profile = this.#profiles.get(source.key)
      descriptions.set(source.name, profile?.text ?? profileLine(source, new Map()))
    }
    return { ...data, descriptions: withinBytes(descriptions) }
  }

  /** `old`: usable, but due for renewal. */
  #ageOf(source: Source): 'fresh' | 'old' | 'missing' {
    const profile = this.#profiles.get(source.key)
    if (profile === undefined) return 'missing'
    if (profile.version === source.version) return 'fresh'
    const { rowCount, columns } = profile
    // A description without rows, or with other columns, is not usable.
    if (rowCount === 0 || columns !== columnsKey(source)) return 'missing'
    const ageMs = this.#nowMs() - profile.madeMs
    if (rowCount === null || rowCount < SMALL_ROWS) {
      return ageMs < SMALL_FRESH_MS ? 'fresh' : 'missing'
    }
    if (ageMs < FRESH_MS) return 'fresh'
    return ageMs < USABLE_MS ? 'old' : 'missing'
  }

  #renew(sources: readonly Source[], reader: DataReader): void {
    const terms = { timeoutMs: RENEWING_MS, signal: this.#closing.signal }
    // A source that failed is described without values until it is read again.
    this.#read(sources, reader, terms).catch(() => undefined)
  }

  /** Reads sources one after the other. Shares reads that other questions have started. */
  async #read(
    sources: readonly Source[],
    reader: DataReader,
    given: {
      readonly timeoutMs: number
      readonly signal: AbortSignal
    },
  ): Promise<void> {
    const { timeoutMs, signal } = given
    const late = () => new AppError('timeout', 'Descriptions of data took too long')
    const deadline = startDeadline({ timeoutMs, signals: [signal], timeoutError: late })
    try {
      for (const source of sources) {
        const reading =
          this.#reading.get(readingKey(source)) ?? this.#begun(source, reader, deadline)
        await abortable(reading, deadline.signal).catch((error: unknown) => {
          // The other question may have more time. A source that is still unread then is described
          // by its name.
          if (!deadline.signal.aborted) throw error
        })
        signal.throwIfAborted()
      }
    } finally {
      deadline.end()
    }
  }

  #begun(source: Source, reader: DataReader, { signal }: Pick<Deadline, 'signal'>): Promise<void> {
    const key = readingKey(source)
    const reading = this.#readOne(source, reader, signal).finally(() => this.#reading.delete(key))
    this.#reading.set(key, reading)
    return reading
  }

  async #readOne(source: Source, reader: DataReader, signal: AbortSignal): Promise<void> {
    try {
      const { text, rowCount } = await readProfile(source, reader, signal)
      this.#keep(source, text, rowCount)
    } catch (error) {
      if (!(error instanceof AppError || signal.aborted)) throw error
      const known = this.#profiles.get(source.key)
      const isUsable = known !== undefined && known.columns === columnsKey(source)
      const text = isUsable ? known.text : profileLine(source, new Map())
      // Not retried right away, because a failing or slow source would delay the next question too.
      this.#keep({ ...source, version: '' }, text, isUsable ? known.rowCount : null)
    }
  }

  #keep(source: Source, text: string, rowCount: number | null): void {
    const { key, version } = source
    const columns = columnsKey(source)
    this.#profiles.set(key, { version, madeMs: this.#nowMs(), text, columns, rowCount })
  }

  close(): void {
    this.#closing.abort(shuttingDown())
  }
}

/** Contains the columns, because changed columns require a new read. */
function readingKey(source: Source): string {
  return `${source.key} ${columnsKey(source)}`
}

function columnsKey({ columns }: Source): string {
  return JSON.stringify(columns.map(({ name, type }) => [name, type]))
}

function sourcesOf(data: AvailableData, snapshot: CatalogSnapshot): readonly Source[] {
  const tables = new Map<string, Source>()
  const add = (name: string, source: Omit<Source, 'name' | 'from' | 'unit'>) => {
    tables.set(nameKey(name), { ...source, name, from: quotedPath(name), unit: 'rows' })
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

/** Reads the first rows. If there are few, also reads whole columns of numbers and dates. */
async function readProfile(
  source: Source,
  reader: DataReader,
  signal: AbortSignal,
): Promise<Pick<Profile, 'text' | 'rowCount'>> {
  const { from, unit } = source
  if (!source.isRead) return { text: profileLine(source, new Map()), rowCount: null }
  const [[count] = []] = (await reader.read(`SELECT count(*) FROM ${from}`, signal)).rows
  const rowCount = Number(count)
  const names = source.columns.slice(0, PROFILED_COLUMNS_MAX).map(({ name }) => quote(name))
  if (names.length === 0 || rowCount === 0) {
    return { text: profileLine({ ...source, rowCount }, new Map()), rowCount }
  }
  const sample = await reader.read(
    `SELECT ${names.join(', ')} FROM ${from} LIMIT ${SAMPLE_ROWS}`,
    signal,
    SAMPLE_ROWS,
  )
  const columns = source.columns.map(({ name, type }, index) => {
    return { name, type: type === '' ? (sample.types[index] ?? '') : type }
  })
  const values = new Map<string, string>()
  for (const [index, { name }] of columns.slice(0, PROFILED_COLUMNS_MAX).entries()) {
    const shown = shownValues(sample.rows.map((row) => row[index] ?? null))
    if (shown !== null) values.set(name, shown)
  }
  const ranged = columns.slice(0, PROFILED_COLUMNS_MAX).filter(({ type }) => RANGED.test(type))
  if (ranged.length > 0 && rowCount <= RANGES_ROWS_MAX) {
    const bounds = ranged.map(({ name }) => `min(${quote(name)}), max(${quote(name)})`)
    const [row = []] = (await reader.read(`SELECT ${bounds.join(', ')} FROM ${from}`, signal)).rows
    for (const [index, { name }] of ranged.entries()) {
      const [lowest, highest] = [row[index * 2], row[index * 2 + 1]].map(harmlessValue)
      if (lowest && highest)
        values.set(name, lowest === highest ? lowest : `${lowest} to ${highest}`)
    }
  }
  return { text: profileLine({ ...source, columns, rowCount, unit }, values), rowCount }
}

const RANGED =
  /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT|INTEGER|UINTEGER|FLOAT|DOUBLE|DECIMAL|DATE|TIMESTAMP)/i

/** The most frequent values that are short enough to be useful. */
function shownValues(cells: readonly ResultValue[]): string | null {
  const counts = new Map<string, number>()
  for (const cell of cells.flatMap((value) => (Array.isArray(value) ? value : [value]))) {
    const text = harmlessValue(cell)
    if (text !== null) counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  const frequent = [...counts].sort(([, one], [, other]) => other - one).slice(0, EXAMPLES_MAX)
  if (frequent.length === 0) return null
  return `e.g. ${frequent.map(([text]) => text).join(', ')}`
}

/** Values may come from strangers, so the prompt includes none that could be read as a sentence. */
const HARMLESS = /^[\p{L}\p{N}+-][\p{L}\p{N}_.:@+-]*(?: [\p{L}\p{N}_.:@+-]+){0,2}$/u
const EXAMPLE_CHARS_MAX = 26

function harmlessValue(value: ResultValue | undefined): string | null {
  if (value === null || value === undefined || typeof value === 'object') return null
  const text = String(value)
  if (text.length > EXAMPLE_CHARS_MAX || !HARMLESS.test(text)) return null
  return typeof value === 'string' && !/^\d/.test(text) ? `'${text}'` : text
}

const COLUMN_NAME_CHARS_MAX = 80

function harmlessName(name: string): string {
  const short = shortened(name, COLUMN_NAME_CHARS_MAX)
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(short) ? short : JSON.stringify(short)
}

function profileLine(source: Source, values: ReadonlyMap<string, string>): string {
  const { rowCount, unit, columns } = source
  const shown = columns.slice(0, PROFILED_COLUMNS_MAX).map(({ name, type }) => {
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
const PROFILE_BYTES_MAX = 16_384

/** As many lines as fit; the other sources are listed by name only. */
function withinBytes(lines: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  let left = PROFILE_BYTES_MAX
  return new Map(
    [...lines].filter(([, line]) => {
      left -= Buffer.byteLength(line)
      return left >= 0
    }),
  )
}
