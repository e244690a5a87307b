import TOOLS from '../../../assets/prompts/tools.json' with { type: 'json' }
import { nameMeant, notAvailable } from '../../core/domain/agents/agent.ts'
import { AGENT_LIMITS, firstBytes } from '../../core/domain/agents/agent-limits.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { fullName, quote, quotedPath } from '../../core/domain/names.ts'
import type { JsonSchema, ToolSpec } from '../../core/domain/ports/model-ports.ts'
import { type AvailableData, type DataReader, observationOf, sqlName } from '../data/agent-data.ts'
import { READ_DOCUMENT } from './document-pages.ts'
import { CHART } from './drawn-chart.ts'
import { METADATA_VALUES } from './metadata-values.ts'
import { argumentSchema } from './named-arguments.ts'

export type ToolName = keyof typeof TOOLS

// The table's keys are the names.
export const TOOL_NAMES = Object.keys(TOOLS) as readonly ToolName[]

const KB_TOOLS: readonly ToolName[] = ['kb_list_tool', 'kb_info_tool', 'kb_query_tool']

const ANY_DATA_TOOLS: readonly ToolName[] = ['metadata_values_tool', 'chart_tool']

const TABLE_TOOLS: readonly ToolName[] = ['sql_db_list_tables', 'sql_db_schema', 'sql_db_query']

/** Schemas of tools with several arguments. */
const SCHEMAS: Partial<Readonly<Record<ToolName, JsonSchema>>> = {
  metadata_values_tool: argumentSchema(METADATA_VALUES),
  read_document_tool: argumentSchema(READ_DOCUMENT),
  chart_tool: argumentSchema(CHART),
}

/** The tools for knowledge bases, plus others if the agent has data for them. */
export function toolSpecs(data: AvailableData): readonly ToolSpec[] {
  const names = [
    ...KB_TOOLS,
    ...(data.knowledgeBases.length === 0 ? [] : (['read_document_tool'] as const)),
    ...(data.tables.length === 0 ? [] : TABLE_TOOLS),
    ...(data.tables.length + data.knowledgeBases.length === 0 ? [] : ANY_DATA_TOOLS),
  ]
  return names.map((name): ToolSpec => {
    const schema = SCHEMAS[name]
    return { name, ...TOOLS[name], ...(schema === undefined ? {} : { schema }) }
  })
}

export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(TOOLS, name)
}

const SHOWN_SAMPLE_ROWS = 3

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

/** @param qualifier prefixed to unqualified names */
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
  // Tries the whole text as one name first, because a name may contain a comma.
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

/** Separated by commas or line breaks; also a JSON list, quotes, or markers of older prompts. */
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
  const metadata = kb.storedMetadata.map(({ name, type }) => columnText(name, type))
  const head = [
    `Knowledge base ${fullName(kb)}: ${sizes?.[0]} chunks of ${sizes?.[1]} documents`,
    `Metadata columns: ${metadata.join(', ') || 'none'}`,
    ...formsFor(kb),
    'Some rows:',
  ].join('\n')
  return `${head}\n${observationOf(sample, { rowsMax: SHOWN_SAMPLE_ROWS, bytesMax }).text}`
}

/** Example statements that work, with the names exactly as needed. */
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
  const from = quotedPath(table)
  const sample = await reader.read(`SELECT * FROM ${from} LIMIT ${SHOWN_SAMPLE_ROWS}`, signal)
  const columns = sample.columns.map((name, index) => columnText(name, sample.types[index]))
  const head = `Table ${table}\nColumns: ${columns.join(', ')}\nSome rows:`
  return `${head}\n${observationOf(sample, { rowsMax: SHOWN_SAMPLE_ROWS, bytesMax }).text}`
}

const PLAIN_NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u

/** With the name as SQL needs it. */
function columnText(name: string, type = ''): string {
  return `${PLAIN_NAME.test(name) ? name : quote(name)} ${type}`
}
