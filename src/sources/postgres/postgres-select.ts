/** A SELECT for PostgreSQL: checked, and with its values in its text where a command takes none. */
import type { SourceValue } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'
import { POSTGRES_DIALECT } from '../../core/text/native-sql.ts'
import { oneSelect, valuesInText } from '../native-select.ts'

/**
 * They act outside of the transaction, run SQL given as text, or reach more than tables. A role without rights to them is
 * the better wall.
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

/** COPY takes no values: they become literals, whose types PostgreSQL finds as it finds those of values. */
export function withLiterals(sql: string, values: readonly SourceValue[]): string {
  return valuesInText(sql, values, { dialect: POSTGRES_DIALECT, literalOf })
}

function literalOf(value: SourceValue): string {
  if (value === null) return 'NULL'
  const text = String(value)
  if (text.includes('\0'))
    throw new AppError('invalid_request', 'PostgreSQL has no character NUL in texts')
  // With standard_conforming_strings nothing but a quote means something in it.
  return `'${text.replaceAll("'", "''")}'`
}
