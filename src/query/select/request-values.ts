import type { BoundValue } from '../../domain/ports.ts'
import { AppError } from '../../errors.ts'
import { DATABASE_PARAMETER } from '../../sql/guard/system-functions.ts'
import { variableOf } from '../../sql/lexer/variable-names.ts'
import { SYSTEM_VARIABLES } from '../show/system-variables.ts'
import type { Variables } from '../variables.ts'
import type { Values } from './binding.ts'

export interface RequestValues {
  readonly params: ReadonlyMap<string, unknown>
  /** null: for a caller with narrowed rights, since a variable may hold what was read with others. */
  readonly variables: Variables | null
  /** What `database()` gives. */
  readonly database: string
}

/** The values of a request's parameters, and those of the variables that it names. */
export function requestValues({ params, variables, database }: RequestValues): Values {
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
