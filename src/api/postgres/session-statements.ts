/** Statements about the session: transactions, settings, and what drivers send at startup. */
import { AppError } from '../../core/errors.ts'

/** `I`: outside a transaction; `T`: inside one; `E`: inside a failed one. */
export type TransactionState = 'I' | 'T' | 'E'

interface SessionAnswer {
  /** The tag in CommandComplete. */
  readonly tag: string
  /** The row that SHOW returns. */
  readonly shown?: { readonly name: string; readonly value: string }
  /** A changed setting that must be reported to the client. */
  readonly changed?: readonly [name: string, value: string]
}

/** Without effect, except `search_path`: the project for unqualified names. */
export const REPORTED: Readonly<Record<string, string>> = {
  server_version: '16.4 (Eider)',
  server_encoding: 'UTF8',
  client_encoding: 'UTF8',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  integer_datetimes: 'on',
  standard_conforming_strings: 'on',
  default_transaction_read_only: 'off',
  in_hot_standby: 'off',
  is_superuser: 'off',
  application_name: '',
  search_path: '',
}

const SILENT: Readonly<Record<string, string>> = {
  default_table_access_method: 'heap',
  default_tablespace: '',
  server_version_num: '160004',
  transaction_isolation: 'repeatable read',
  default_transaction_isolation: 'repeatable read',
  transaction_read_only: 'off',
  extra_float_digits: '1',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  row_security: 'on',
  max_index_keys: '32',
  max_identifier_length: '63',
  bytea_output: 'hex',
  client_min_messages: 'notice',
  lc_collate: 'C',
  lc_ctype: 'C',
  session_authorization: 'default',
  synchronize_seqscans: 'on',
  wal_level: 'replica',
  ssl: 'off',
}

const SETTINGS_MAX = 100
const VALUE_CHARS_MAX = 1_000

export class PgSession {
  state: TransactionState = 'I'
  readonly #settings = new Map<string, string>()
  readonly #project: string

  /** @param project the project named at connection time */
  constructor(project: string) {
    this.#project = project
  }

  setting(name: string): string | undefined {
    const key = settingKey(name)
    return (
      this.#settings.get(key) ?? (key === 'search_path' ? this.#project : KNOWN_SETTINGS.get(key))
    )
  }

  /** @returns undefined if the engine must run the statement */
  answer(sql: string): SessionAnswer | undefined {
    const text = sql.replaceAll(/\/\*.*?(?:\*\/|$)|--[^\n]*/gs, ' ').trim()
    const [, first = ''] = /^([a-z]+)/i.exec(text) ?? []
    return STATEMENTS[first.toLowerCase()]?.(this, text)
  }

  /** @throws AppError `invalid_request` if there are too many settings */
  set(name: string, value: string): SessionAnswer {
    const key = settingKey(name)
    const isFull = this.#settings.size >= SETTINGS_MAX && !this.#settings.has(key)
    if (isFull || value.length > VALUE_CHARS_MAX) {
      throw new AppError('invalid_request', 'A session can have at most 100 short settings')
    }
    if (key === 'client_encoding' && !/^(utf-?8|unicode|sql_ascii)$/i.test(value)) {
      const message = `The server supports only UTF8: client_encoding cannot be ${value}`
      throw new AppError('sql_not_supported', message)
    }
    this.#settings.set(key, key === 'client_encoding' ? 'UTF8' : value)
    const reported = Object.keys(REPORTED).find((one) => settingKey(one) === key)
    return reported === undefined ? { tag: 'SET' } : { tag: 'SET', changed: [reported, value] }
  }

  /** After a failure inside a transaction, only the end of the transaction is accepted. */
  failed(): void {
    if (this.state === 'T') this.state = 'E'
  }

  begin(): SessionAnswer {
    if (this.state === 'I') this.state = 'T'
    return { tag: 'BEGIN' }
  }

  end(tag: 'COMMIT' | 'ROLLBACK'): SessionAnswer {
    const failed = this.state === 'E'
    this.state = 'I'
    return { tag: failed ? 'ROLLBACK' : tag }
  }

  reset(): SessionAnswer {
    this.#settings.clear()
    return { tag: 'RESET' }
  }
}

export const KNOWN_SETTINGS: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...REPORTED, ...SILENT }).map(([name, value]) => [settingKey(name), value]),
)

function settingKey(name: string): string {
  return name.toLowerCase()
}

function unquoted(text: string): string {
  const [, single, double] = /^(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)")$/.exec(text) ?? []
  return single?.replaceAll("''", "'") ?? double?.replaceAll('""', '"') ?? text
}

/** DuckDB does not know these, and would report a syntax error. */
function refused(_session: PgSession, text: string): never {
  const [word = ''] = text.split(/\s/)
  throw new AppError('sql_not_supported', `${word.toUpperCase()} is not supported`)
}

const STATEMENTS: Readonly<
  Record<string, (session: PgSession, text: string) => SessionAnswer | undefined>
> = {
  begin: (session) => session.begin(),
  start(session, text) {
    return /^start\s+transaction\b/i.test(text) ? session.begin() : undefined
  },
  commit: (session) => session.end('COMMIT'),
  end: (session) => session.end('COMMIT'),
  abort: (session) => session.end('ROLLBACK'),
  rollback(session, text) {
    if (!/\bto\b/i.test(text)) return session.end('ROLLBACK')
    if (session.state === 'E') session.state = 'T'
    return { tag: 'ROLLBACK' }
  },
  savepoint: () => ({ tag: 'SAVEPOINT' }),
  release: () => ({ tag: 'RELEASE' }),
  discard(session, text) {
    const isAll = /^discard\s+all$/i.test(text)
    return isAll ? { ...session.reset(), tag: 'DISCARD ALL' } : { tag: text.toUpperCase() }
  },
  reset: (session) => session.reset(),
  unlisten: () => ({ tag: 'UNLISTEN' }),
  listen: refused,
  notify: refused,
  lock: refused,
  grant: refused,
  revoke: refused,
  do: refused,
  set(session, text) {
    // `@name` is a variable of the engine.
    if (/^set\s+@/i.test(text)) return undefined
    if (/^set\s+((session\s+characteristics|local|session)\b.*)?\btransaction\b/i.test(text)) {
      return { tag: 'SET' }
    }
    const zone = /^set\s+(?:session\s+|local\s+)?time\s+zone\s+(.+)$/is.exec(text)
    if (zone !== null) return session.set('TimeZone', unquoted(zone[1]?.trim() ?? ''))
    const [, name, value] =
      /^set\s+(?:session\s+|local\s+)?([\w.]+)\s*(?:=|\bto\b)\s*(.+)$/is.exec(text) ?? []
    return name === undefined ? undefined : session.set(name, unquoted((value ?? '').trim()))
  },
  show(session, text) {
    const [, shown = ''] = /^show\s+(.+)$/is.exec(text) ?? []
    const plain = unquoted(shown.trim())
    const key = /^transaction\s+isolation\s+level$/i.test(plain) ? 'transaction_isolation' : plain
    const name = settingKey(/^time\s+zone$/i.test(key) ? 'TimeZone' : key)
    const value = session.setting(name)
    return value === undefined ? undefined : { tag: 'SHOW', shown: { name, value } }
  },
}
