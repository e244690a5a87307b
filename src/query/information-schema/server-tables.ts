/** The tables of information_schema over the server itself, as MySQL's clients read them when they connect. */
import { SYSTEM_VARIABLES, shownVariable } from '../variables.ts'
import { emptyTable, type SchemaRow, type SchemaTable, schemaTable } from './schema-table.ts'

export const ENGINE = 'DuckDB'
export const CHARACTER_SET = 'utf8mb4'
/** Texts are compared by their code points. */
export const COLLATION = 'utf8mb4_bin'

const VARIABLES = 'VARIABLE_NAME VARIABLE_VALUE'

export const SERVER_TABLES: readonly SchemaTable[] = [
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
