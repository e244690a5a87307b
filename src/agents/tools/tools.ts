import { nameMeant, notAvailable } from '../../core/domain/agents/agent.ts'
import { AGENT_LIMITS, firstBytes } from '../../core/domain/agents/agent-limits.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { fullName, quote, quotedPath } from '../../core/domain/names.ts'
import type { ToolSpec } from '../../core/domain/ports/model-ports.ts'
import { type AvailableData, type DataReader, observationOf, sqlName } from '../data/agent-data.ts'
import { READ_DOCUMENT } from './document-pages.ts'
import { CHART } from './drawn-chart.ts'
import { METADATA_VALUES } from './metadata-values.ts'
import { argumentSchema } from './named-arguments.ts'

export const TOOL_NAMES = [
  'kb_list_tool',
  'kb_info_tool',
  'kb_query_tool',
  'sql_db_list_tables',
  'sql_db_schema',
  'sql_db_query',
  'metadata_values_tool',
  'read_document_tool',
  'chart_tool',
] as const

export type ToolName = (typeof TOOL_NAMES)[number]

const KB_TOOLS: readonly ToolName[] = ['kb_list_tool', 'kb_info_tool', 'kb_query_tool']

const ANY_DATA_TOOLS: readonly ToolName[] = ['metadata_values_tool', 'chart_tool']

const TABLE_TOOLS: readonly ToolName[] = ['sql_db_list_tables', 'sql_db_schema', 'sql_db_query']

const SPECS: Readonly<Record<ToolName, Omit<ToolSpec, 'name'>>> = {
  kb_list_tool: {
    description: 'Lists the knowledge bases that you may read, as a JSON array of their names.',
    input: null,
  },
  kb_info_tool: {
    description: 'Describes knowledge bases: their columns, their size and some of their rows.',
    input: {
      name: 'knowledge_base_names',
      description: 'Names as kb_list_tool gives them, separated by commas',
    },
  },
  kb_query_tool: {
    description:
      'Runs one SQL SELECT on knowledge bases and returns rows as CSV. ' +
      "WHERE content = 'text' finds the chunks that match the text best, by meaning and by words.",
    input: {
      name: 'sql_query',
      description:
        'One SELECT statement, such as: SELECT chunk_id, chunk_content, relevance ' +
        "FROM project.kb WHERE content = 'how to return an order' LIMIT 5",
    },
  },
  sql_db_list_tables: {
    description: 'Lists the tables that you may read, as a JSON array of their names.',
    input: null,
  },
  sql_db_schema: {
    description: 'Describes tables: their columns with types, and some of their rows.',
    input: {
      name: 'table_names',
      description: 'Names as sql_db_list_tables gives them, separated by commas',
    },
  },
  sql_db_query: {
    description: 'Runs one SQL SELECT, in the dialect of DuckDB, on tables; returns rows as CSV.',
    input: { name: 'sql_query', description: 'One SELECT statement' },
  },
  metadata_values_tool: {
    description:
      'Lists the values of a metadata column of a knowledge base, or of a column of a table: their number, their ' +
      'range, and the most frequent ones. Call it before you filter by a value that you do not know.',
    input: null,
    schema: argumentSchema(METADATA_VALUES),
  },
  read_document_tool: {
    description:
      'Reads a whole document of a knowledge base page by page, or the text before and after a chunk that a search ' +
      'found, when a passage alone is not enough.',
    input: null,
    schema: argumentSchema(READ_DOCUMENT),
  },
  chart_tool: {
    description:
      'Draws a chart of the rows of one SELECT, which the user is shown beside your answer. Only where a chart is asked ' +
      'for or says more than a sentence.',
    input: null,
    schema: argumentSchema(CHART),
  },
}

/** The tools for knowledge bases, plus others if the agent has data for them. */
export function toolSpecs(data: AvailableData): readonly ToolSpec[] {
  const names = [
    ...KB_TOOLS,
    ...(data.knowledgeBases.length === 0 ? [] : (['read_document_tool'] as const)),
    ...(data.tables.length === 0 ? [] : TABLE_TOOLS),
    ...(data.tables.length + data.knowledgeBases.length === 0 ? [] : ANY_DATA_TOOLS),
  ]
  return names.map((name) => ({ name, ...SPECS[name] }))
}

export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(SPECS, name)
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
