/** A SELECT for MySQL: checked, and with its values in its text. */
import type { SourceValue } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'
import { MYSQL_DIALECT, nativeTokens, oneSelect } from '../native-select.ts'

/** They act outside of the transaction, or reach what is not a table. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  'get_lock',
  'release_lock',
  'release_all_locks',
  'load_file',
  'nextval',
  'setval',
  'sys_exec',
  'sys_eval',
  'sys_set',
  'master_pos_wait',
  'source_pos_wait',
  'wait_for_executed_gtid_set',
])
/** `INTO OUTFILE` writes files; `FOR UPDATE` and `LOCK IN SHARE MODE` hold rows. */
const WORDS: ReadonlySet<string> = new Set(['INTO', 'UPDATE', 'LOCK', 'PROCEDURE', 'NEXT'])

/** @throws AppError `sql_forbidden`, `sql_syntax` */
export function mysqlSelect(sql: string): string {
  return oneSelect(sql, MYSQL_DIALECT, { functions: FUNCTIONS, words: WORDS })
}

/** @param sql with a `?` for each value */
export function withValues(sql: string, values: readonly SourceValue[]): string {
  if (values.length === 0) return sql
  let text = ''
  let done = 0
  let next = 0
  for (const { kind, start, end } of nativeTokens(sql, MYSQL_DIALECT)) {
    if (kind !== 'placeholder') continue
    const value = values[next]
    if (value === undefined)
      throw new AppError('sql_syntax', `The native SQL has no value number ${next + 1}`)
    next += 1
    text += `${sql.slice(done, start)}${literalOf(value)}`
    done = end
  }
  return text + sql.slice(done)
}

function literalOf(value: SourceValue): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  // With our sql_mode nothing but quotes and backslashes means something in it.
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''").replaceAll('\0', '\\0')}'`
}
