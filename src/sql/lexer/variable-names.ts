/**
 * `@name` and `@@name`: their values are known only when a statement runs. So each becomes a parameter of our own, in the
 * text that DuckDB reads and in the cached plan.
 */
const USER_PREFIX = 'eider_variable_'
const SYSTEM = 'eider_system_'

/** The variable a parameter's name refers to. */
interface VariableName {
  /** `user`: set by SET @name. `system`: `@@name`, and values of the request itself. */
  readonly kind: 'user' | 'system'
  /** In lower case. */
  readonly name: string
}

/** The parameter for `@name`. Names are compared without case. */
export function variableParameter(kind: VariableName['kind'], name: string): string {
  // In lower case a letter may get a separate mark (İ), which names may not contain.
  const key = name.toLowerCase().replaceAll(/\p{M}/gu, '')
  return `${kind === 'user' ? USER_PREFIX : SYSTEM}${key}`
}

/** The variable behind a parameter; undefined for one of the caller's own. */
export function variableOf(parameter: string): VariableName | undefined {
  if (parameter.startsWith(USER_PREFIX))
    return { kind: 'user', name: parameter.slice(USER_PREFIX.length) }
  if (parameter.startsWith(SYSTEM)) return { kind: 'system', name: parameter.slice(SYSTEM.length) }
  return undefined
}

/** The name of a result's column, with variables as they are written. */
export function displayedName(column: string): string {
  return column.replaceAll(`$${USER_PREFIX}`, '@').replaceAll(`$${SYSTEM}`, '@@')
}
