import type { BoundValue } from '../domain/ports.ts'
import { AppError } from '../errors.ts'
import { DATABASE_PARAMETER } from '../sql/guard/system-functions.ts'
import { variableOf } from '../sql/lexer/variable-names.ts'
import { SYSTEM_VARIABLES } from './show/system-variables.ts'

const VARIABLES_MAX = 1000
const VARIABLE_BYTES_MAX = 1_000_000

/** What `SET @name = …` keeps: for all requests, until the process ends. Names are in lower case. */
export class Variables {
  readonly #values = new Map<string, BoundValue>()

  get(name: string): BoundValue | undefined {
    return this.#values.get(name)
  }

  /** Sets all or none. @throws AppError `sql_not_supported` for too many, or one that is too large */
  set(values: ReadonlyMap<string, BoundValue>): void {
    const names = new Set([...this.#values.keys(), ...values.keys()])
    if (names.size > VARIABLES_MAX) {
      throw new AppError('sql_not_supported', `There are at most ${VARIABLES_MAX} variables`)
    }
    for (const [name, value] of values) {
      const size = Buffer.byteLength(JSON.stringify(value))
      if (size <= VARIABLE_BYTES_MAX) continue
      const message = `A variable holds at most ${VARIABLE_BYTES_MAX} bytes; @${name} has ${size}`
      throw new AppError('sql_not_supported', message)
    }
    for (const [name, value] of values) this.#values.set(name, value)
  }
}

/** Values of parameters by their names. */
export type ParameterValues = Pick<ReadonlyMap<string, unknown>, 'get' | 'has'>

/**
 * The values of a request's parameters, and those of the variables that it names.
 * @param variables null: for a caller with narrowed rights, since a variable may hold what was read with others
 * @param database what `database()` gives
 */
export function requestValues(
  params: ReadonlyMap<string, unknown>,
  variables: Variables | null,
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
function userValue(name: string, variables: Variables | null): BoundValue {
  if (variables === null) {
    throw new AppError('sql_forbidden', 'Variables are not available here')
  }
  const value = variables.get(name)
  if (value !== undefined) return value
  throw new AppError('sql_missing_parameter', `Variable is not set: @${name}`)
}

/** @throws AppError `sql_unknown_name` */
function systemValue(name: string): BoundValue {
  const value = Object.hasOwn(SYSTEM_VARIABLES, name) ? SYSTEM_VARIABLES[name] : undefined
  if (value === undefined) {
    const how = 'SHOW VARIABLES lists those there are'
    throw new AppError('sql_unknown_name', `There is no system variable @@${name}; ${how}`)
  }
  return typeof value === 'boolean' ? Number(value) : value
}
