/** Finds tokens by the brackets around them. */
import { type Token, tokenize } from './tokens.ts'

/** How many parentheses, brackets or braces a token opens; negative if it closes one. */
function depthChange({ kind, text }: Token): number {
  if (kind !== 'symbol') return 0
  return '([{'.includes(text) ? 1 : ')]}'.includes(text) ? -1 : 0
}

/** How many brackets are open around each token. A bracket has the depth of what is around it. */
export function depthsOf(tokens: readonly Token[]): readonly number[] {
  let depth = 0
  return tokens.map((token) => {
    const change = depthChange(token)
    const outside = change < 0 ? depth - 1 : depth
    depth += change
    return outside
  })
}

/**
 * The next such token within the same brackets as the one at `from`, which may be it; undefined if
 * they close before.
 */
export function nextWithin(
  tokens: readonly Token[],
  from: number,
  isMeant: (token: Token) => boolean,
): number | undefined {
  const depths = depthsOf(tokens.slice(from))
  const at = depths.findIndex((depth, index) => {
    const token = tokens[from + index]
    return depth < 0 || (depth === 0 && token !== undefined && isMeant(token))
  })
  return at === -1 || (depths[at] ?? 0) < 0 ? undefined : from + at
}

/** The index of the bracket that closes around the token at `from`; undefined if there is none. */
export function closeAround(tokens: readonly Token[], from: number): number | undefined {
  const at = depthsOf(tokens.slice(from)).findIndex((depth) => depth < 0)
  return at === -1 ? undefined : from + at
}

/** Splits a text at the semicolons between statements. @throws AppError `sql_syntax` */
export function statementsOf(text: string): readonly string[] {
  if (!text.includes(';')) return text.trim() === '' ? [] : [text]
  const statements: string[] = []
  let from = 0
  for (const { kind, text: sign, start, end } of tokenize(text)) {
    if (kind !== 'symbol' || sign !== ';') continue
    statements.push(text.slice(from, start))
    from = end
  }
  return [...statements, text.slice(from)].filter((part) => tokenize(part).length > 0)
}

/** Where the parenthesis that opens at an index closes; -1 if it does not. */
export function closeOf(tokens: readonly Token[], open: number): number {
  let depth = 0
  for (let at = open; at < tokens.length; at += 1) {
    const text = tokens[at]?.text
    if (text === '(') depth += 1
    if (text === ')') depth -= 1
    if (depth === 0) return at
  }
  return -1
}

/** A keyword, symbol or phrase outside of parentheses, or an unmatched closing one. */
export function endOfText(tokens: readonly Token[], from: number, ends: readonly string[]): number {
  const phrases = ends.map((end) => end.split(' '))
  let depth = 0
  for (let at = from; at < tokens.length; at += 1) {
    const { kind, text = '' } = tokens[at] ?? {}
    const isClose = kind === 'symbol' && ')]}'.includes(text)
    if (depth === 0 && (isClose || phrases.some((words) => isPhrase(tokens, at, words)))) return at
    if (kind === 'symbol' && '([{'.includes(text)) depth += 1
    if (isClose) depth -= 1
  }
  return tokens.length
}

/** The FROM of `a IS DISTINCT FROM b` does not start a clause. */
function isPhrase(tokens: readonly Token[], at: number, words: readonly string[]): boolean {
  const isWithin = words[0] === 'from' && tokens[at - 1]?.text.toLowerCase() === 'distinct'
  if (isWithin) return false
  return words.every((word, index) => {
    const { kind, text } = tokens[at + index] ?? {}
    return (kind === 'word' || kind === 'symbol') && text?.toLowerCase() === word
  })
}
