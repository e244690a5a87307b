/** The catalog as tables, for clients and editors that read it in SQL. Secrets are masked. */
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { literal, quote } from '../../core/domain/identifier.ts'
import type { Project } from '../../core/domain/project.ts'
import { SYSTEM_VARIABLES, shownVariable } from '../variables.ts'
import { OBJECT_TABLES } from './object-tables.ts'
import { RELATION_TABLES } from './relation-tables.ts'
import {
  askedCondition,
  CHARACTER_SET,
  COLLATION,
  ENGINE,
  emptyTable,
  type SchemaRow,
  type SchemaTable,
  schemaColumns,
  schemaTable,
  settledCondition,
} from './schema-table.ts'

export const INFORMATION_SCHEMA = 'information_schema'

/** With the names that projects and agents have now. */
const KEPT_TURNS = `(SELECT turns.*, projects.name AS project_name, agents.name AS agent_name
  FROM eider.conversation_turns AS turns
  JOIN eider.agents AS agents ON agents.id = turns.agent_id
  JOIN eider.projects AS projects ON projects.id = turns.project_id)`

const TRACE_TABLES: readonly SchemaTable[] = [
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

/** The tables of information_schema over the server itself, as MySQL's clients read them when they connect. */

const VARIABLES = 'VARIABLE_NAME VARIABLE_VALUE'

const SERVER_TABLES: readonly SchemaTable[] = [
  schemaTable('ENGINES', 'ENGINE SUPPORT COMMENT TRANSACTIONS XA SAVEPOINTS', () => [
    {
      ENGINE,
      SUPPORT: 'DEFAULT',
      COMMENT: 'Columnar, in process',
      TRANSACTIONS: 'YES',
      XA: 'NO',
      SAVEPOINTS: 'NO',
    },
  ]),
  schemaTable(
    'CHARACTER_SETS',
    'CHARACTER_SET_NAME DEFAULT_COLLATE_NAME DESCRIPTION MAXLEN:BIGINT',
    () => [
      {
        CHARACTER_SET_NAME: CHARACTER_SET,
        DEFAULT_COLLATE_NAME: COLLATION,
        DESCRIPTION: 'UTF-8 Unicode',
        MAXLEN: 4,
      },
    ],
  ),
  schemaTable(
    'COLLATIONS',
    `COLLATION_NAME CHARACTER_SET_NAME ID:BIGINT IS_DEFAULT IS_COMPILED SORTLEN:BIGINT
     PAD_ATTRIBUTE`,
    () => [
      {
        COLLATION_NAME: COLLATION,
        CHARACTER_SET_NAME: CHARACTER_SET,
        // MySQL's number for it.
        ID: 46,
        IS_DEFAULT: 'Yes',
        IS_COMPILED: 'Yes',
        SORTLEN: 1,
        PAD_ATTRIBUTE: 'NO PAD',
      },
    ],
  ),
  schemaTable(
    'PLUGINS',
    `PLUGIN_NAME PLUGIN_VERSION PLUGIN_STATUS PLUGIN_TYPE PLUGIN_TYPE_VERSION PLUGIN_LIBRARY
     PLUGIN_LIBRARY_VERSION PLUGIN_AUTHOR PLUGIN_DESCRIPTION PLUGIN_LICENSE LOAD_OPTION`,
    () => [
      {
        PLUGIN_NAME: ENGINE,
        PLUGIN_STATUS: 'ACTIVE',
        PLUGIN_TYPE: 'STORAGE ENGINE',
        PLUGIN_LICENSE: 'MIT',
        LOAD_OPTION: 'FORCE',
      },
    ],
  ),
  schemaTable('SESSION_VARIABLES', VARIABLES, systemVariableRows),
  schemaTable('GLOBAL_VARIABLES', VARIABLES, systemVariableRows),
  schemaTable('SESSION_STATUS', VARIABLES, () => STATUS),
  schemaTable('GLOBAL_STATUS', VARIABLES, () => STATUS),
  emptyTable('PROCESSLIST', 'ID:BIGINT USER HOST DB COMMAND TIME:BIGINT STATE INFO'),
  emptyTable(
    'ROUTINES',
    `SPECIFIC_NAME ROUTINE_CATALOG ROUTINE_SCHEMA ROUTINE_NAME ROUTINE_TYPE DATA_TYPE
     ROUTINE_DEFINITION SECURITY_TYPE CREATED LAST_ALTERED ROUTINE_COMMENT DEFINER
     CHARACTER_SET_CLIENT COLLATION_CONNECTION DATABASE_COLLATION`,
  ),
]

function systemVariableRows(): readonly SchemaRow[] {
  return Object.entries(SYSTEM_VARIABLES).map(([name, value]) => {
    return { VARIABLE_NAME: name, VARIABLE_VALUE: shownVariable(value) }
  })
}

/** What clients look at to see whether their connection is encrypted: it is none of this server's. */
const STATUS: readonly SchemaRow[] = [
  { VARIABLE_NAME: 'Ssl_cipher', VARIABLE_VALUE: '' },
  { VARIABLE_NAME: 'Ssl_version', VARIABLE_VALUE: '' },
]

const TABLES: readonly SchemaTable[] = [
  ...OBJECT_TABLES,
  ...TRACE_TABLES,
  ...RELATION_TABLES,
  ...SERVER_TABLES,
]

export const INFORMATION_SCHEMA_TABLES = TABLES.map(({ name }) => name.toLowerCase())

/** A SELECT of the table's rows, or undefined when there is no such table. */
export function informationSchemaSql(snapshot: CatalogSnapshot, name: string): string | undefined {
  return named(name)?.sql({ snapshot, tables: TABLES })
}

/** The same of one project: existing clients read `models` and its like there. */
export function projectSchemaSql(
  snapshot: CatalogSnapshot,
  project: Project,
  name: string,
): string | undefined {
  const table = named(name)
  if (table === undefined || !isOfProjects(table)) return undefined
  const rows = table.sql({ snapshot: { ...snapshot, dataSources: [] }, tables: TABLES })
  const { projectColumn } = table
  if (projectColumn === null) return rows
  return `SELECT * FROM (${rows}) AS t WHERE ${quote(projectColumn)} = ${literal(project.name)}`
}

/** Queries in the background belong to no project. */
function isOfProjects({ name, projectColumn }: SchemaTable): boolean {
  return projectColumn !== null || name === 'QUERIES'
}

function named(name: string): SchemaTable | undefined {
  const key = name.toUpperCase()
  return TABLES.find((table) => table.name === key)
}
