import { nameKey } from '../../core/domain/identifier.ts'
import { tokenize } from './tokens.ts'

/**
 * Whether something of a database is named: `shop.orders`, `shop (SELECT …)`. An alias that is called so counts, too, and
 * in a text that cannot be read every mention does.
 */
export function namesDatabase(sql: string, database: string): boolean {
  const key = nameKey(database)
  try {
    const tokens = tokenize(sql)
    return tokens.some(({ kind, value }, index) => {
      if ((kind !== 'word' && kind !== 'name') || nameKey(value) !== key) return false
      const [before, after] = [tokens[index - 1]?.text, tokens[index + 1]?.text]
      return before !== '.' && (after === '.' || after === '(')
    })
  } catch {
    return nameKey(sql).includes(key)
  }
}
