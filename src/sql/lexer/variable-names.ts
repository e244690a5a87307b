/**
 * Handles `@name` and `@@name`, whose values are known only when a statement runs. In the text for
 * DuckDB and in cached plans, each is a parameter with a generated name.
 */
const USER_PREFIX = 'eider_variable_'
const SYSTEM = 'eider_system_'

interface VariableName {
  /** `user`: set by SET @name. `system`: `@@name`, and values of the request itself. */
  readonly kind: 'user' | 'system'
  /** In lower case. */
  readonly name: string
}

/** Returns the parameter for `@name`. Names are compared ignoring case. */
export function variableParameter(kind: VariableName['kind'], name: string): string {
  // Lower-casing İ adds a combining mark, which parameter names may not contain.
  const key = name.toLowerCase().replaceAll(/\p{M}/gu, '')
  return `${kind === 'user' ? USER_PREFIX : SYSTEM}${key}`
}

/** Returns the variable of a parameter; undefined for a client's own parameter. */
export function variableOf(parameter: string): VariableName | undefined {
  if (parameter.startsWith(USER_PREFIX))
    return { kind: 'user', name: parameter.slice(USER_PREFIX.length) }
  if (parameter.startsWith(SYSTEM)) return { kind: 'system', name: parameter.slice(SYSTEM.length) }
  return undefined
}

/** Returns the name of a result column with variables as they were written. */
export function displayedName(column: string): string {
  return column.replaceAll(`$${USER_PREFIX}`, '@').replaceAll(`$${SYSTEM}`, '@@')
}
