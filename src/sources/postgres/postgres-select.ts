/**
 * Checks a SELECT for PostgreSQL, and writes values into it for commands that take none. Begins
 * transactions with their settings.
 */
import type { SourceValue } from '../../core/domain/ports/engine-ports.ts'
import type { RemoteBegin } from '../../core/domain/ports/storage-ports.ts'
import { AppError } from '../../core/errors.ts'
import { POSTGRES_DIALECT } from '../../core/text/native-sql.ts'
import { oneSelect, valuesInText } from '../native-select.ts'

/**
 * Functions that act outside the transaction, run SQL given as text, or access more than tables.
 */
const FORBIDDEN_FUNCTIONS: ReadonlySet<string> = new Set(
  `brin_summarize_new_values brin_summarize_range cursor_to_xml cursor_to_xmlschema
    database_to_xml dblink dblink_connect dblink_connect_u dblink_exec dblink_open
    dblink_send_query gin_clean_pending_list lo_create lo_creat lo_export lo_from_bytea
    lo_import lo_open lo_put lo_truncate lo_unlink lowrite nextval pg_advisory_lock
    pg_advisory_lock_shared pg_backup_start pg_cancel_backend pg_copy_logical_replication_slot
    pg_copy_physical_replication_slot pg_create_logical_replication_slot
    pg_create_physical_replication_slot pg_create_restore_point pg_current_logfile
    pg_drop_replication_slot pg_execute_server_program pg_file_rename pg_file_unlink
    pg_file_write pg_log_backend_memory_contexts pg_logical_emit_message
    pg_logical_slot_get_changes pg_ls_dir pg_notify pg_promote pg_read_binary_file
    pg_read_file pg_reload_conf pg_replication_origin_create pg_rotate_logfile
    pg_rotate_logfile_old pg_start_backup pg_stat_file pg_stat_reset pg_stat_reset_shared
    pg_stat_reset_single_table_counters pg_stop_backup pg_switch_wal pg_terminate_backend
    pg_wal_replay_pause pg_wal_replay_resume query_to_xml query_to_xml_and_xmlschema
    query_to_xmlschema schema_to_xml set_config setval table_to_xml ts_stat txid_current
    pg_current_xact_id`.split(/\s+/),
)
const FORBIDDEN_WORDS: ReadonlySet<string> = new Set(['INTO'])

/** @throws AppError `sql_forbidden`, `sql_syntax` */
export function postgresSelect(sql: string): string {
  return oneSelect(sql, POSTGRES_DIALECT, {
    functions: FORBIDDEN_FUNCTIONS,
    words: FORBIDDEN_WORDS,
  })
}

/** COPY takes no parameters. PostgreSQL infers the types of literals in the same way. */
export function withLiterals(sql: string, values: readonly SourceValue[]): string {
  return valuesInText(sql, values, { dialect: POSTGRES_DIALECT, literalOf })
}

function literalOf(value: SourceValue): string {
  if (value === null) return 'NULL'
  const text = String(value)
  if (text.includes('\0'))
    throw new AppError('invalid_request', 'PostgreSQL has no character NUL in texts')
  // With standard_conforming_strings, only quotes have to be escaped.
  return `'${text.replaceAll("'", "''")}'`
}

const TIMEOUT_MS_MAX = 2 ** 31 - 1

/** These belong to the transaction and end with it, so they also work through poolers. */
export function settingsSql(timeoutMs: number, others: RemoteBegin['settings']): string {
  const timeout = `'${Math.min(TIMEOUT_MS_MAX, timeoutMs)}'`
  const all = Object.entries({ ...SETTINGS, statement_timeout: timeout, ...others })
  const each = all.map(([name, value]) => `pg_catalog.set_config('${name}', ${value}, true)`)
  return `SELECT ${each.join(', ')}`
}

const SETTINGS: RemoteBegin['settings'] = {
  client_encoding: "'UTF8'",
  DateStyle: "'ISO, YMD'",
  IntervalStyle: "'postgres'",
  TimeZone: "'UTC'",
  extra_float_digits: "'1'",
  bytea_output: "'hex'",
  standard_conforming_strings: "'on'",
  xmloption: "'content'",
}
/** All statements of a reading transaction see the same state. */
export const BEGINNINGS: Readonly<Record<RemoteBegin['mode'], string>> = {
  read: 'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;',
  write: 'BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;',
}

export function searchPath(schemas: readonly string[]): RemoteBegin['settings'] {
  if (schemas.length === 0) return {}
  const names = schemas.map((name) => `"${name.replaceAll('"', '""')}"`)
  return { search_path: `'${names.join(', ').replaceAll("'", "''")}'` }
}
