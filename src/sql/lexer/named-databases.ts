import { tokenize } from './tokens.ts'

const ENDS_FROM = new Set([
  ...['select', 'where', 'group', 'having', 'qualify', 'window', 'order', 'limit', 'offset'],
  ...['union', 'intersect', 'except', 'on', 'using'],
])
const QUERY_WORDS = new Set(['select', 'with', 'from', 'values'])

/**
 * The databases that a SELECT names before a relation or before SQL of their own, in lower case. It reads no more than words, so
 * that it may find one too many (`extract(day FROM t.x)`), but it misses none.
 */
export function databasesNamed(sql: string): ReadonlySet<string> {
  const tokens = tokenize(sql)
  const found = new Set<string>()
  // For each open parenthesis: whether a relation may follow, and whether a comma leads to one.
  const open = [{ isNext: false, isFrom: false }]
  for (const [index, { kind, text, value }] of tokens.entries()) {
    const state = open.at(-1) ?? { isNext: false, isFrom: false }
    const word = kind === 'word' ? value.toLowerCase() : ''
    if (text === '(') open.push({ isNext: state.isNext, isFrom: state.isNext })
    else if (text === ')') open.pop()
    else if (text === ',') state.isNext = state.isFrom
    else if (word === 'from' || word === 'join')
      Object.assign(state, { isNext: true, isFrom: true })
    else if (word === 'lateral') continue
    else if (ENDS_FROM.has(word)) {
      state.isNext = false
      // After a condition of a join, a comma leads to a relation again.
      if (word !== 'on' && word !== 'using') state.isFrom = false
    } else if (kind === 'word' || kind === 'name') {
      if (state.isNext && isDatabase(index)) found.add(value.toLowerCase())
      state.isNext = false
    }
  }
  return found

  function isDatabase(index: number): boolean {
    const [next, afterwards] = [tokens[index + 1], tokens[index + 2]]
    if (next?.text === '.') return true
    return next?.text === '(' && QUERY_WORDS.has(afterwards?.value.toLowerCase() ?? '')
  }
}
