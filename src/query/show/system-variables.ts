/** `@@name`: what MySQL's clients read of a server when they connect. */
type SystemValue = string | number | boolean

/** In the order of their names. Only what is true of this server, or what nothing here depends on. */
export const SYSTEM_VARIABLES: Readonly<Record<string, SystemValue>> = {
  auto_increment_increment: 1,
  autocommit: true,
  character_set_client: 'utf8mb4',
  character_set_connection: 'utf8mb4',
  character_set_database: 'utf8mb4',
  character_set_results: 'utf8mb4',
  character_set_server: 'utf8mb4',
  character_set_system: 'utf8mb4',
  collation_connection: 'utf8mb4_bin',
  collation_database: 'utf8mb4_bin',
  collation_server: 'utf8mb4_bin',
  default_storage_engine: 'DuckDB',
  init_connect: '',
  interactive_timeout: 28_800,
  license: 'Apache-2.0',
  // Names are kept as they were written and compared without case.
  lower_case_table_names: 2,
  max_allowed_packet: 67_108_864,
  net_write_timeout: 60,
  performance_schema: false,
  query_cache_size: 0,
  query_cache_type: false,
  sql_mode: 'ANSI_QUOTES',
  system_time_zone: 'UTC',
  time_zone: '+00:00',
  transaction_isolation: 'REPEATABLE-READ',
  transaction_read_only: false,
  tx_isolation: 'REPEATABLE-READ',
  tx_read_only: false,
  // The MySQL whose system tables are imitated: clients decide by it what to ask for.
  version: '8.0.17-Eider',
  version_comment: 'Eider',
  wait_timeout: 28_800,
}

/** As SHOW VARIABLES writes it. */
export function shownValue(value: SystemValue): string {
  if (typeof value === 'boolean') return value ? 'ON' : 'OFF'
  return String(value)
}
