import { tokenize } from '../../sql/lexer/tokens.ts'

/** Whether a value is the word DEFAULT. */
export function isDefault(value: string): boolean {
  return /^\s*default\s*$/i.test(value)
}

/** The same source for one who only wants to know whether it can be read. */
export function withoutDefaults(source: string): string {
  return valuesWithDefaults(source, ['a'], new Map())
}

/**
 * `VALUES (1, DEFAULT)` as a query: the word becomes the value of its column. `DEFAULT VALUES` is one row of them. Any other
 * source stays as it is.
 * @param columns of the values, in their order
 * @param defaults SQL by the names of columns
 */
export function valuesWithDefaults(
  source: string,
  columns: readonly string[],
  defaults: ReadonlyMap<string, string>,
): string {
  const sqlOf = (column: string | undefined) => `(${defaults.get(column ?? '') ?? 'NULL'})`
  if (/^\s*default\s+values\s*$/i.test(source)) return `VALUES (${columns.map(sqlOf).join(', ')})`
  if (!/^\s*values\b/i.test(source) || !/\bdefault\b/i.test(source)) return source
  const tokens = tokenize(source, source.includes("\\'") ? 'backslash' : 'standard')
  let sql = ''
  let taken = 0
  let depth = 0
  let column = 0
  for (const [index, { kind, text, start, end }] of tokens.entries()) {
    const isBefore = '(,'.includes(tokens[index - 1]?.text ?? ' ')
    const isAfter = '),'.includes(tokens[index + 1]?.text ?? ' ')
    if (depth === 1 && kind === 'word' && isDefault(text) && isBefore && isAfter) {
      sql += source.slice(taken, start) + sqlOf(columns[column])
      taken = end
    }
    if (kind !== 'symbol') continue
    if ('([{'.includes(text)) depth += 1
    if (')]}'.includes(text)) depth -= 1
    if (depth === 1 && text === ',') column += 1
    if (depth === 0) column = 0
  }
  return sql + source.slice(taken)
}
