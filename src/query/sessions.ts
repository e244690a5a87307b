import type { BoundValue } from '../core/domain/ports/engine-ports.ts'
import { AppError } from '../core/errors.ts'
import { variableOf } from '../core/text/shown-statement.ts'
import { HOUR_MS } from '../core/time.ts'
import { DATABASE_PARAMETER } from '../sql/guard/placeholders.ts'

export interface SessionName {
  /** Empty if there is none. Logins' sessions are separate, even under the same name. */
  readonly login: string
  /** The client's name for the session; empty for the login's default session. */
  readonly name: string
}

interface SessionLimits {
  readonly sessionsMax: number
  /** The most bytes of variables and their names per session. */
  readonly sessionBytesMax: number
  readonly bytesMax: number
  /** A session ends if no request has named it for this long. */
  readonly idleMs: number
}

const SESSION_LIMITS: SessionLimits = {
  sessionsMax: 1_000,
  sessionBytesMax: 8 * 1024 * 1024,
  bytesMax: 64 * 1024 * 1024,
  // As long as MySQL keeps an idle connection.
  idleMs: 8 * HOUR_MS,
}

interface Session {
  readonly login: string
  readonly variables: Variables
  usedMs: number
}

/** Kept between requests, from its first SET. The least recently used session ends first. */
export class Sessions {
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>()
  readonly #limits: SessionLimits
  readonly #nowMs: () => number

  /** @param nowMs returns milliseconds, for time differences */
  constructor(limits: SessionLimits = SESSION_LIMITS, nowMs: () => number = performance.now) {
    this.#limits = limits
    this.#nowMs = nowMs
  }

  get size(): { readonly sessions: number; readonly bytes: number } {
    return { sessions: this.#sessions.size, bytes: this.#bytes() }
  }

  /** @param name null for variables that last only for this request */
  variablesOf(name: SessionName | null): VariableScope {
    if (name === null) return new Variables(this.#limits.sessionBytesMax)
    const key = JSON.stringify([name.login, name.name])
    this.#use(key)
    return {
      get: (variable) => this.#sessions.get(key)?.variables.get(variable),
      set: (values) => this.#set(key, name.login, values),
    }
  }

  /** Ends all sessions of a login. */
  drop(login: string): void {
    for (const [key, session] of this.#sessions) {
      if (session.login === login) this.#sessions.delete(key)
    }
  }

  #use(key: string): void {
    const session = this.#sessions.get(key)
    if (session === undefined) return
    this.#sessions.delete(key)
    const nowMs = this.#nowMs()
    if (nowMs - session.usedMs > this.#limits.idleMs) return
    session.usedMs = nowMs
    this.#sessions.set(key, session)
  }

  #set(key: string, login: string, values: ReadonlyMap<string, BoundValue>): void {
    const variables =
      this.#sessions.get(key)?.variables ?? new Variables(this.#limits.sessionBytesMax)
    variables.set(values)
    this.#sessions.delete(key)
    this.#sessions.set(key, { login, variables, usedMs: this.#nowMs() })
    this.#makeRoom()
  }

  #makeRoom(): void {
    const { sessionsMax, bytesMax, idleMs } = this.#limits
    const idleSinceMs = this.#nowMs() - idleMs
    let bytes = this.#bytes()
    for (const [key, { variables, usedMs }] of this.#sessions) {
      const isFull = this.#sessions.size > sessionsMax || bytes > bytesMax
      if (!isFull && usedMs >= idleSinceMs) return
      this.#sessions.delete(key)
      bytes -= variables.bytes
    }
  }

  #bytes(): number {
    return this.#sessions.values().reduce((sum, { variables }) => sum + variables.bytes, 0)
  }
}

const VARIABLES_MAX = 1000
const VARIABLE_BYTES_MAX = 1_000_000

/** The variables set by `SET @name = …`. Names are in lower case. */
export interface VariableScope {
  get(name: string): BoundValue | undefined
  /** All or none. @throws AppError `sql_not_supported` if they are too many or too large */
  set(values: ReadonlyMap<string, BoundValue>): void
}

export class Variables implements VariableScope {
  readonly #values = new Map<string, { readonly value: BoundValue; readonly bytes: number }>()
  readonly #bytesMax: number
  #bytes = 0

  /** @param bytesMax the limit for all names and values together */
  constructor(bytesMax: number = Number.POSITIVE_INFINITY) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  get(name: string): BoundValue | undefined {
    return this.#values.get(name)?.value
  }

  set(values: ReadonlyMap<string, BoundValue>): void {
    const names = new Set([...this.#values.keys(), ...values.keys()])
    if (names.size > VARIABLES_MAX) {
      throw new AppError('sql_not_supported', `There are at most ${VARIABLES_MAX} variables`)
    }
    const measured = [...values].map(([name, value]) => {
      return [name, { value, bytes: Buffer.byteLength(name) + variableBytes(name, value) }] as const
    })
    const grown = measured.reduce((sum, [name, { bytes }]) => {
      return sum + bytes - (this.#values.get(name)?.bytes ?? 0)
    }, this.#bytes)
    if (grown > this.#bytesMax) {
      const message = `The variables of a session hold at most ${this.#bytesMax} bytes`
      throw new AppError('sql_not_supported', message)
    }
    for (const [name, entry] of measured) this.#values.set(name, entry)
    this.#bytes = grown
  }
}

function variableBytes(name: string, value: BoundValue): number {
  const size = Buffer.byteLength(JSON.stringify(value))
  if (size <= VARIABLE_BYTES_MAX) return size
  const message = `A variable holds at most ${VARIABLE_BYTES_MAX} bytes; @${name} has ${size}`
  throw new AppError('sql_not_supported', message)
}

/** For statements that no client sent, which have no variables. */
export const NO_VARIABLES: VariableScope = { get: () => undefined, set: () => {} }

/** For a SELECT that is analysed without running it, because values are known only in a run. */
export const UNKNOWN_VARIABLES: VariableScope = { get: () => null, set: () => {} }

export type ParameterValues = Pick<ReadonlyMap<string, unknown>, 'get' | 'has'>

/**
 * Returns the values of a request's parameters and of the variables it names.
 * @param variables null for a caller with fewer rights, because variables may hold data that was
 * read with more
 * @param database the result of `database()`
 */
export function requestValues(
  params: ReadonlyMap<string, unknown>,
  variables: VariableScope | null,
  database: string,
): ParameterValues {
  return {
    has: (parameter) => variableOf(parameter) !== undefined || params.has(parameter),
    get: (parameter) => {
      if (parameter === DATABASE_PARAMETER) return database
      const variable = variableOf(parameter)
      if (variable === undefined) return params.get(parameter)
      if (variable.kind === 'system') return systemValue(variable.name)
      return userValue(variable.name, variables)
    },
  }
}

/** @throws AppError `sql_missing_parameter`, `sql_forbidden` */
function userValue(name: string, variables: VariableScope | null): BoundValue {
  if (variables === null) throw new AppError('sql_forbidden', 'Variables are not available here')
  const value = variables.get(name)
  if (value !== undefined) return value
  throw new AppError('sql_missing_parameter', `Variable is not set: @${name}`)
}

/** @throws AppError `sql_unknown_name` */
function systemValue(name: string): BoundValue {
  const value = Object.hasOwn(SYSTEM_VARIABLES, name) ? SYSTEM_VARIABLES[name] : undefined
  if (value === undefined) {
    const how = 'SHOW VARIABLES lists them all'
    throw new AppError('sql_unknown_name', `There is no system variable @@${name}; ${how}`)
  }
  return typeof value === 'boolean' ? Number(value) : value
}

/** `@@name` variables, which MySQL clients read when they connect. */
type SystemValue = string | number | boolean

/** Sorted by name. Each value is true for this server, or has no effect here. */
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
  // Names are stored as written and compared ignoring case.
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
  // The MySQL version whose system tables are provided. Clients decide by it what to request.
  version: '8.0.17-Eider',
  version_comment: 'Eider',
  wait_timeout: 28_800,
}

/** The value in the form of SHOW VARIABLES. */
export function shownVariable(value: SystemValue): string {
  if (typeof value === 'boolean') return value ? 'ON' : 'OFF'
  return String(value)
}
