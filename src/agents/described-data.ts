import { nameKey } from '../domain/identifier.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { AGENT_LIMITS } from './agent-limits.ts'
import { type DataReader, sqlName, sqlTableName } from './data-reader.ts'
import { observationOf } from './observation.ts'
import { fullName } from './resolved-data.ts'
import { firstBytes } from './text-size.ts'

const SAMPLE_ROWS = 3

interface Describing {
  readonly reader: DataReader
  readonly bytesMax: number
}

/** Columns, size and some rows of the knowledge bases that a model names. */
export function describedKnowledgeBases(
  input: string,
  { reader, bytesMax }: Describing,
  signal: AbortSignal,
): Promise<string> {
  const { knowledgeBases } = reader.scope.allowed
  const available = knowledgeBases.map((kb) => ({ name: fullName(kb), kb }))
  return described(input, { available, bytesMax, project: reader.scope.project }, (entry, bytes) =>
    describeKnowledgeBase(entry.kb, { reader, bytesMax: bytes }, signal),
  )
}

/** Columns with types and some rows of the tables that a model names. */
export function describedTables(
  input: string,
  { reader, bytesMax }: Describing,
  signal: AbortSignal,
): Promise<string> {
  const available = reader.scope.allowed.tables.map((name) => ({ name }))
  return described(input, { available, bytesMax, project: 'files' }, (entry, bytes) =>
    describeTable(entry.name, { reader, bytesMax: bytes }, signal),
  )
}

interface Catalogue<T> {
  readonly available: readonly T[]
  /** Stands before a name without a qualifier. */
  readonly project: string
  readonly bytesMax: number
}

async function described<T extends { readonly name: string }>(
  input: string,
  { available, project, bytesMax }: Catalogue<T>,
  describe: (entry: T, bytesMax: number) => Promise<string>,
): Promise<string> {
  const names = namesIn(input)
  if (names.length === 0) return 'Name what you want described, separated by commas'
  const asked = names.slice(0, AGENT_LIMITS.describedNamesMax)
  const parts: string[] = []
  for (const name of asked) {
    const keys = [nameKey(name), nameKey(`${project}.${name}`)]
    const entry = available.find((one) => keys.includes(nameKey(one.name)))
    const share = Math.floor(bytesMax / asked.length)
    const text = entry === undefined ? notAvailable(name, available) : await describe(entry, share)
    parts.push(firstBytes(text, share - 2))
  }
  if (names.length > asked.length) parts.push(`Only ${asked.length} names at a time`)
  return firstBytes(parts.join('\n\n'), bytesMax)
}

function notAvailable(name: string, available: readonly { readonly name: string }[]): string {
  const names = available.slice(0, AGENT_LIMITS.promptNamesMax).map((one) => one.name)
  return `${name.slice(0, 200)} is not available. Available: ${names.join(', ') || 'none'}`
}

/**
 * Names by commas or lines, also as a JSON list, in quotes, or between the markers that older
 * prompts use.
 */
function namesIn(input: string): readonly string[] {
  return input
    .slice(0, AGENT_LIMITS.sqlCharsMax)
    .replaceAll(/\$START\$|\$STOP\$|["'`[\]]/g, '')
    .split(/[,\n]/)
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

async function describeKnowledgeBase(
  kb: KnowledgeBase,
  { reader, bytesMax }: Describing,
  signal: AbortSignal,
): Promise<string> {
  const from = sqlName(kb)
  const count = `SELECT count(*) AS chunks, count(DISTINCT id) AS documents FROM ${from}`
  const [sizes] = (await reader.read(count, signal)).rows
  const sample = await reader.read(`SELECT * FROM ${from} LIMIT ${SAMPLE_ROWS}`, signal)
  const metadata = kb.storedMetadata.map((column) => `${column.name} ${column.type}`)
  const head = [
    `Knowledge base ${fullName(kb)}: ${sizes?.[0]} chunks of ${sizes?.[1]} documents`,
    `Metadata columns: ${metadata.join(', ') || 'none'}`,
    'Some rows:',
  ].join('\n')
  return `${head}\n${observationOf(sample, { rowsMax: SAMPLE_ROWS, bytesMax }).text}`
}

async function describeTable(
  table: string,
  { reader, bytesMax }: Describing,
  signal: AbortSignal,
): Promise<string> {
  const from = sqlTableName(table)
  const sample = await reader.read(`SELECT * FROM ${from} LIMIT ${SAMPLE_ROWS}`, signal)
  const columns = sample.columns.map((name, index) => `${name} ${sample.types[index]}`)
  const head = `Table ${table}\nColumns: ${columns.join(', ')}\nSome rows:`
  return `${head}\n${observationOf(sample, { rowsMax: SAMPLE_ROWS, bytesMax }).text}`
}
