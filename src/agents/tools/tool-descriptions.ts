import { nameMeant, notAvailable } from '../../core/domain/agents/agent.ts'
import { quote } from '../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { fullName } from '../../core/domain/project.ts'
import { AGENT_LIMITS, firstBytes } from '../agent-limits.ts'
import { type DataReader, sqlName, sqlTableName } from '../data/data-reader.ts'
import { observationOf } from '../data/observation.ts'

const SHOWN_SAMPLE_ROWS = 3

/** Columns, size and some rows of the knowledge bases that a model names. */
export function describeKnowledgeBases(
  input: string,
  reader: DataReader,
  signal: AbortSignal,
  bytesMax: number,
): Promise<string> {
  const { allowed, project } = reader.scope
  const available = allowed.knowledgeBases.map((kb) => ({
    name: fullName(kb),
    describe: (partBytesMax: number) => describeKnowledgeBase(kb, reader, signal, partBytesMax),
  }))
  return describeNamed(input, available, project, bytesMax)
}

/** Columns with types and some rows of the tables that a model names. */
export function describeTables(
  input: string,
  reader: DataReader,
  signal: AbortSignal,
  bytesMax: number,
): Promise<string> {
  const available = reader.scope.allowed.tables.map((name) => ({
    name,
    describe: (partBytesMax: number) => describeTable(name, reader, signal, partBytesMax),
  }))
  return describeNamed(input, available, 'files', bytesMax)
}

/** @param qualifier added to unqualified names */
async function describeNamed(
  input: string,
  available: readonly {
    readonly name: string
    describe(bytesMax: number): Promise<string>
  }[],
  qualifier: string,
  bytesMax: number,
): Promise<string> {
  const known = available.map((entry) => entry.name)
  // A name may hold a comma.
  const isOne = nameMeant(input, qualifier, known) !== undefined
  const names = isOne ? [input] : calledNames(input)
  if (names.length === 0) return 'Name what you want described, separated by commas'
  const described = names.slice(0, AGENT_LIMITS.describedNamesMax)
  const partBytesMax = Math.floor(bytesMax / described.length)
  const parts: string[] = []
  for (const name of described) {
    const meant = nameMeant(name, qualifier, known)
    const match = available.find((entry) => entry.name === meant)
    const text =
      match === undefined ? notAvailable(name, known) : await match.describe(partBytesMax)
    parts.push(firstBytes(text, partBytesMax - 2))
  }
  if (names.length > described.length) parts.push(`Only ${described.length} names at a time`)
  return firstBytes(parts.join('\n\n'), bytesMax)
}

/**
 * Names by commas or lines, also as a JSON list, in quotes, or between the markers that older
 * prompts use.
 */
function calledNames(input: string): readonly string[] {
  const text = input.slice(0, AGENT_LIMITS.sqlCharsMax).replaceAll(/\$START\$|\$STOP\$/g, '')
  const names = text.match(/(?:"[^"\n]*"|`[^`\n]*`|[^,\n])+/g) ?? []
  return names.map((name) => name.replaceAll(/^[\s[]+|[\s\]]+$/g, '')).filter((name) => name !== '')
}

async function describeKnowledgeBase(
  kb: KnowledgeBase,
  reader: DataReader,
  signal: AbortSignal,
  bytesMax: number,
): Promise<string> {
  const from = sqlName(kb)
  const count = `SELECT count(*) AS chunks, count(DISTINCT id) AS documents FROM ${from}`
  const [sizes] = (await reader.read(count, signal)).rows
  const sample = await reader.read(`SELECT * FROM ${from} LIMIT ${SHOWN_SAMPLE_ROWS}`, signal)
  const metadata = kb.storedMetadata.map((column) => `${column.name} ${column.type}`)
  const head = [
    `Knowledge base ${fullName(kb)}: ${sizes?.[0]} chunks of ${sizes?.[1]} documents`,
    `Metadata columns: ${metadata.join(', ') || 'none'}`,
    ...formsFor(kb),
    'Some rows:',
  ].join('\n')
  return `${head}\n${observationOf(sample, { rowsMax: SHOWN_SAMPLE_ROWS, bytesMax }).text}`
}

/** Statements that work, with names as they must be written. */
function formsFor(kb: KnowledgeBase): readonly string[] {
  const from = sqlName(kb)
  const [column] = kb.storedMetadata
  const filter = column === undefined ? '' : ` AND ${quote(column.name)} IS NOT NULL`
  const counted = column === undefined ? 'id' : quote(column.name)
  return [
    'Statements that work:',
    `- the best chunks: SELECT id, chunk_id, chunk_content, relevance, answerable FROM ${from} WHERE content = 'text to find'${filter} LIMIT 5`,
    `- chunks with a word: SELECT id, chunk_id, chunk_content FROM ${from} WHERE chunk_content ILIKE '%word%' LIMIT 5`,
    `- counts: SELECT ${counted}, count(DISTINCT id) AS documents FROM ${from} GROUP BY 1 ORDER BY 2 DESC LIMIT 20`,
    `- counts over a search: WITH best AS (SELECT * FROM ${from} WHERE content = 'text to find' LIMIT 50) SELECT id, count(*) AS chunks FROM best GROUP BY id`,
  ]
}

async function describeTable(
  table: string,
  reader: DataReader,
  signal: AbortSignal,
  bytesMax: number,
): Promise<string> {
  const from = sqlTableName(table)
  const sample = await reader.read(`SELECT * FROM ${from} LIMIT ${SHOWN_SAMPLE_ROWS}`, signal)
  const columns = sample.columns.map((name, index) => `${name} ${sample.types[index]}`)
  const head = `Table ${table}\nColumns: ${columns.join(', ')}\nSome rows:`
  return `${head}\n${observationOf(sample, { rowsMax: SHOWN_SAMPLE_ROWS, bytesMax }).text}`
}
