import { AppError } from '../../core/errors.ts'
import { lineAndColumn, type Token } from './tokens.ts'

/**
 * `@name` and `@@name`: their values are known only when a statement runs. So each becomes a parameter of our own, in the
 * text that DuckDB reads and in the cached plan.
 */
const USER_PREFIX = 'eider_variable_'
const SYSTEM = 'eider_system_'

/** A variable as it is meant by a parameter's name. */
interface VariableName {
  /** `user`: set by SET @name. `system`: `@@name`, and what stands for the request itself. */
  readonly kind: 'user' | 'system'
  /** In lower case. */
  readonly name: string
}

/** The parameter that stands for `@name`. Names are compared without case. */
export function variableParameter(kind: VariableName['kind'], name: string): string {
  // In lower case a letter may get a mark of its own (İ), which cannot stand in a name.
  const key = name.toLowerCase().replaceAll(/\p{M}/gu, '')
  return `${kind === 'user' ? USER_PREFIX : SYSTEM}${key}`
}

/** What a parameter stands for, or undefined for one of the caller's. */
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

/**
 * `id IN (:ids)` with a list as the value means `id IN :ids`; to DuckDB it would be a text that equals a list, which none
 * does. The parentheses become spaces, so that places in the statement stay.
 * @param isList of the value of the parameter of that name
 * @throws AppError `sql_not_supported` for a list beside other values
 */
export function listsOpened(
  sql: string,
  tokens: readonly Token[],
  isList: (name: string) => boolean,
): string {
  let text = sql
  tokens.forEach((token, index) => {
    if (token.kind !== 'word' || token.value.toLowerCase() !== 'in') return
    const open = tokens[index + 1]
    // A search takes each text, or vector, as a parameter of its own.
    if (open?.text !== '(' || isSearch(tokens, index)) return
    const items = listItems(tokens, index + 2)
    const list = items?.find(({ kind, value }) => kind === 'parameter' && isList(value))
    if (items === undefined || list === undefined) return
    const close = tokens[index + 3]
    if (items.length > 1 || close === undefined) throw listAmongValues(sql, list)
    text = blanked(blanked(text, open.start), close.start)
  })
  return text
}

/** The single tokens between commas; undefined: there is something else in the parentheses. */
function listItems(tokens: readonly Token[], first: number): readonly Token[] | undefined {
  const items: Token[] = []
  for (let index = first; ; index += 2) {
    const [item, next] = [tokens[index], tokens[index + 1]]
    if (item === undefined || next === undefined) return undefined
    items.push(item)
    if (next.text === ')') return items
    if (next.text !== ',') return undefined
  }
}

function isSearch(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]
  const column = before?.value.toLowerCase() === 'not' ? tokens[index - 2] : before
  return column?.value.toLowerCase() === 'content'
}

function blanked(text: string, at: number): string {
  return `${text.slice(0, at)} ${text.slice(at + 1)}`
}

function listAmongValues(sql: string, { text, start }: Token): AppError {
  const message = `${lineAndColumn(sql, start)}: ${text} is a list, which stands alone: IN ${text}`
  return new AppError('sql_not_supported', message)
}
