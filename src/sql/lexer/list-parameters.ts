import { AppError } from '../../core/errors.ts'
import { lineAndColumn, type Token } from './tokens.ts'

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
