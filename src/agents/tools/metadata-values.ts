import { nameMeant, notAvailable } from '../../core/domain/agents/agent.ts'
import { AGENT_LIMITS } from '../../core/domain/agents/agent-limits.ts'
import { fullName, literal, nameKey, quote, quotedPath } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { type DataReader, observationOf, sqlName } from '../data/agent-data.ts'
import { type ArgumentSpecs, readArguments } from './named-arguments.ts'

const VALUES = 30

export const METADATA_VALUES = {
  name: {
    type: 'string',
    isRequired: true,
    description: 'A knowledge base (project.kb) or a table',
  },
  column: {
    type: 'string',
    isRequired: true,
    description: 'A metadata column of the knowledge base, or a column of the table',
  },
  prefix: { type: 'string', description: 'Only values that begin with this text, without case' },
  contains: { type: 'string', description: 'Only values that contain this text, without case' },
  where: {
    type: 'string',
    description:
      "A condition in SQL for the rows that count, such as: year > 2020 AND status = 'open'",
  },
  limit: {
    type: 'integer',
    min: 1,
    max: VALUES,
    description: `How many values, the most frequent first; at most ${VALUES}`,
  },
} as const satisfies ArgumentSpecs

export async function metadataValues(
  input: string,
  reader: DataReader,
  signal: AbortSignal,
  bytesMax: number,
): Promise<string> {
  const { limit, where, ...wanted } = readArguments(input, METADATA_VALUES)
  const source = sourceNamed(wanted.name, reader)
  const columns = await reader.read(`SELECT * FROM ${source.from} LIMIT 0`, signal)
  const column = columnNamed(wanted.column, source, columns)
  const condition = where === null ? '' : ` WHERE (${where}\n)`
  // A list counts once for each of its values.
  const value = column.isList ? `unnest(${column.sql})` : column.sql
  const rows = `SELECT ${value} AS value${source.isKnowledgeBase ? ', id' : ''} FROM ${source.from}${condition}`
  const counted = source.isKnowledgeBase
    ? 'count(DISTINCT id) AS documents, count(*) AS chunks'
    : 'count(*) AS rows'
  const filters = filtersOf(wanted)
  const ranges = `SELECT count(DISTINCT value) AS distinct_values, min(value) AS lowest, max(value) AS highest, ${counted}, count(*) FILTER (value IS NULL) AS without_value FROM (${rows})`
  const [range] = (await reader.read(ranges, signal)).rows
  const [first] = counted.split(' AS ')
  const values = `SELECT value, ${counted} FROM (${rows}) WHERE value IS NOT NULL${filters} GROUP BY value ORDER BY ${first} DESC, value LIMIT ${(limit ?? VALUES) + 1}`
  const found = await reader.read(values, signal, limit ?? VALUES)
  const head = headOf(
    { source: source.name, column: column.name, type: column.type },
    range ?? [],
    found.hasMore,
  )
  const { text } = observationOf(
    { ...found, hasMore: false },
    { rowsMax: VALUES, bytesMax: bytesMax - 2_000 },
  )
  return `${head}\n${text}`
}

interface Source {
  readonly name: string
  readonly from: string
  readonly isKnowledgeBase: boolean
  /** Columns in addition to those of SELECT *. */
  readonly otherColumns: readonly { readonly name: string; readonly type: string }[]
}

function sourceNamed(written: string, { scope }: DataReader): Source {
  const { knowledgeBases, tables } = scope.allowed
  const names = [...knowledgeBases.map(fullName), ...tables]
  const name = nameMeant(written, scope.project, names)
  if (name === undefined) throw new AppError('sql_forbidden', notAvailable(written, names))
  const kb = knowledgeBases.find((one) => fullName(one) === name)
  if (kb === undefined) {
    return { name, from: quotedPath(name), isKnowledgeBase: false, otherColumns: [] }
  }
  return { name, from: sqlName(kb), isKnowledgeBase: true, otherColumns: kb.storedMetadata }
}

/** Columns that every chunk has, whose values reveal nothing. */
const OF_CHUNKS = new Set(['chunk_id', 'chunk_content', 'metadata', 'relevance', 'distance'])

function columnNamed(
  written: string,
  { isKnowledgeBase, otherColumns, name: source }: Source,
  selected: { readonly columns: readonly string[]; readonly types: readonly string[] },
): {
  readonly name: string
  readonly type: string
  readonly sql: string
  readonly isList: boolean
} {
  const own = selected.columns.map((name, index) => ({ name, type: selected.types[index] ?? '' }))
  const shown = own.filter(({ name }) => !isKnowledgeBase || !OF_CHUNKS.has(nameKey(name)))
  const all = [...shown, ...otherColumns]
  const wanted = nameKey(
    written
      .replace(/^\s*metadata\s*(?:\.|->>?)/i, '')
      .replaceAll(/["'`]/g, '')
      .trim(),
  )
  const exact = all.find(({ name }) => nameKey(name) === nameKey(written))
  const found = exact ?? all.find(({ name }) => nameKey(name) === wanted)
  if (found === undefined) {
    const known = all
      .slice(0, AGENT_LIMITS.promptNamesMax)
      .map(({ name, type }) => `${name} ${type}`)
    const message = `${source} has no column "${written.slice(0, 200)}". Its columns: ${known.join(', ')}`
    throw new AppError('sql_unknown_name', message)
  }
  const { name, type } = found
  const isJson = nameKey(type) === 'json'
  const list = `CASE json_type(${quote(name)}) WHEN 'ARRAY' THEN json_extract_string(${quote(name)}, '$[*]') ELSE [json_extract_string(${quote(name)}, '$')] END`
  return { name, type, sql: isJson ? list : quote(name), isList: isJson || type.endsWith('[]') }
}

function filtersOf(given: {
  readonly prefix: string | null
  readonly contains: string | null
}): string {
  const { prefix, contains } = given
  const text = 'lower(CAST(value AS VARCHAR))'
  const begins = prefix === null ? '' : ` AND starts_with(${text}, lower(${literal(prefix)}))`
  const holds = contains === null ? '' : ` AND contains(${text}, lower(${literal(contains)}))`
  return `${begins}${holds}`
}

function headOf(
  {
    source,
    column,
    type,
  }: { readonly source: string; readonly column: string; readonly type: string },
  [distinct, lowest, highest, rows, ...rest]: readonly unknown[],
  hasMore: boolean,
): string {
  const without = rest.at(-1)
  const unit = rest.length > 1 ? 'documents' : 'rows'
  const range =
    lowest === null || lowest === undefined ? '' : `, from ${short(lowest)} to ${short(highest)}`
  const more = hasMore
    ? '\nThe most frequent ones; there are more. Use prefix, contains or where.'
    : ''
  return `Column ${column} ${type} of ${source}: ${distinct} distinct values${range}, in ${rows} ${unit}; without a value: ${without} ${rest.length > 1 ? 'chunks' : 'rows'}${more}`
}

function short(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text
}
