/** The tables of information_schema over what questions to agents, and changes, left behind. DuckDB reads the stored rows themselves. */
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { literal } from '../../core/domain/identifier.ts'
import {
  askedCondition,
  type SchemaTable,
  schemaColumns,
  settledCondition,
} from './schema-table.ts'

/** With the names that projects and agents have now. */
const KEPT_TURNS = `(SELECT turns.*, projects.name AS project_name, agents.name AS agent_name
  FROM eider.conversation_turns AS turns
  JOIN eider.agents AS agents ON agents.id = turns.agent_id
  JOIN eider.projects AS projects ON projects.id = turns.project_id)`

export const TRACE_TABLES: readonly SchemaTable[] = [
  storedTable(
    'TRACES',
    'eider.traces',
    {
      TRACE_ID: 'trace_id',
      PROJECT: 'project_name',
      AGENT: 'agent_name',
      CONVERSATION_ID: 'conversation_id',
      PROVIDER: 'provider',
      MODEL: 'model_name',
      PURPOSE: 'purpose',
      QUESTION: 'question',
      ANSWER: 'answer',
      OUTCOME: 'outcome',
      ERROR_CODE: 'error_code',
      ERROR: 'error_message',
      'STARTED_AT:TIMESTAMP': 'started_at',
      'ENDED_AT:TIMESTAMP': 'ended_at',
      'TOOK_MS:DOUBLE': 'took_ms',
      'TURNS:BIGINT': 'turn_count',
      'STEPS:BIGINT': 'step_count',
      'INPUT_TOKENS:BIGINT': 'input_tokens',
      'OUTPUT_TOKENS:BIGINT': 'output_tokens',
      'CACHED_TOKENS:BIGINT': 'cached_tokens',
      'COST:DOUBLE': 'cost',
      CITATIONS: 'citations',
      WARNINGS: 'warnings',
    },
    askedCondition('TRACES'),
  ),
  storedTable(
    'TRACE_STEPS',
    'eider.trace_steps',
    {
      TRACE_ID: 'trace_id',
      'STEP:BIGINT': 'number',
      KIND: 'kind',
      TOOL: 'tool',
      INPUT: 'input',
      OBSERVATION: 'observation',
      REASONING: 'reasoning',
      'START_MS:DOUBLE': 'start_ms',
      'TOOK_MS:DOUBLE': 'took_ms',
      'FIRST_PIECE_MS:DOUBLE': 'first_piece_ms',
      FINISH: 'finish',
      'TOOL_CALLS:BIGINT': 'call_count',
      'INPUT_TOKENS:BIGINT': 'input_tokens',
      'OUTPUT_TOKENS:BIGINT': 'output_tokens',
      'CACHED_TOKENS:BIGINT': 'cached_tokens',
    },
    traceCondition('TRACE_STEPS'),
  ),
  storedTable(
    'TRACE_FEEDBACK',
    'eider.trace_feedback',
    {
      TRACE_ID: 'trace_id',
      'RATING:DOUBLE': 'rating',
      COMMENT: 'comment',
      'CREATED_AT:TIMESTAMP': 'created_at',
    },
    traceCondition('TRACE_FEEDBACK'),
  ),
  storedTable(
    'CONVERSATION_TURNS',
    KEPT_TURNS,
    {
      CONVERSATION_ID: 'conversation_id',
      PROJECT: 'project_name',
      AGENT: 'agent_name',
      TRACE_ID: 'trace_id',
      QUESTION: 'question',
      ANSWER: 'answer',
      OUTCOME: 'outcome',
      ERROR_CODE: 'error_code',
      'STARTED_AT:TIMESTAMP': 'started_at',
      'ENDED_AT:TIMESTAMP': 'ended_at',
      CITATIONS: 'citations',
    },
    askedCondition('CONVERSATION_TURNS'),
  ),
  storedTable(
    'AUDIT_LOG',
    'eider.audit_log',
    {
      'NUMBER:BIGINT': 'number',
      'HAPPENED_AT:TIMESTAMP': 'happened_at',
      PRINCIPAL_KIND: 'principal_kind',
      PRINCIPAL_ID: 'principal_id',
      PRINCIPAL: 'principal_name',
      ACTION: 'action',
      TARGETS: 'targets',
      OUTCOME: 'outcome',
      ADDRESS: 'address',
      REQUEST_ID: 'request_id',
      'OCCURRENCES:BIGINT': 'occurrences',
      'SKIPPED_ROWS:BIGINT': 'skipped_rows',
    },
    settledCondition('AUDIT_LOG'),
  ),
]

/**
 * @param stored by the columns that are shown, their column in the table
 * @param condition which rows are shown
 */
function storedTable(
  name: string,
  table: string,
  stored: Readonly<Record<string, string>>,
  condition: string,
): SchemaTable {
  const columns = schemaColumns(Object.keys(stored).join(' '))
  const shown = Object.values(stored).map((column, index) => {
    const { name: alias = '', type = 'VARCHAR' } = columns[index] ?? {}
    return `${column}::${type} AS ${alias}`
  })
  const sql = `SELECT ${shown.join(', ')} FROM ${table} WHERE ${condition}`
  const hasProject = Object.values(stored).includes('project_name')
  return {
    name,
    columns,
    projectColumn: null,
    sql: ({ snapshot }) => sql + visibleCondition(snapshot, hasProject),
  }
}

function traceCondition(table: string): string {
  return `trace_id IN (SELECT trace_id FROM eider.traces WHERE ${askedCondition(table)})`
}

/** An answer and its steps show what its agent may read: they are for those who may ask it. */
function visibleCondition(
  { limits, projects }: Pick<CatalogSnapshot, 'limits' | 'projects'>,
  hasProject: boolean,
): string {
  if (limits === undefined) return ''
  const { read, ask, namespaces } = limits.rights
  if (!read || !ask) return ' AND false'
  if (namespaces === null) return ''
  const names = ["''", ...projects.map(({ name }) => literal(name))].join(', ')
  if (hasProject) return ` AND project_name IN (${names})`
  return ` AND trace_id IN (SELECT trace_id FROM eider.traces WHERE project_name IN (${names}))`
}
