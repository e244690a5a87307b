import type { ToolSpec } from '../../core/domain/ports/model-ports.ts'
import type { AvailableData } from '../data/agent-data.ts'
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
      "WHERE content = 'text' finds the chunks that fit the text best, by meaning and by words.",
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
      'Lists the values of a metadata column of a knowledge base, or of a column of a table: how many there are, from ' +
      'where to where they reach, and the most frequent ones. Call it before you filter by a value that you do not know.',
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

/** The tools for knowledge bases, and others if the agent has something for them. */
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
