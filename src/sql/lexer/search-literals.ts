import { type Token, tokenize } from './tokens.ts'

/** A statement whose search texts have become parameters, and their values. */
export interface ParameterizedStatement {
  readonly sql: string
  /** `eider_text_0` → the text. */
  readonly texts: ReadonlyMap<string, string>
}

/** The tokens that may follow a text that is a whole operand. A cast or an operator may not. */
const ENDS = new Set(') , ; and or limit offset order group having qualify union except'.split(' '))

const PREFIX = 'eider_text_'

export function isLiteralParameter(name: string): boolean {
  return name.startsWith(PREFIX)
}

/**
 * Puts parameters in the place of the texts of `content = '…'`, so that searches that differ in nothing else share a plan.
 * Whether `content` is what a knowledge base is searched by is not known here: the plan must tell, and where it is not the
 * statement must be read as it was written.
 * @param tokens of the statement, read in the standard way, where they are known
 */
export function parameterizeSearchLiterals(
  sql: string,
  tokens: readonly Token[] = tokensOf(sql),
): ParameterizedStatement {
  const texts = new Map<string, string>()
  if (!/content/i.test(sql)) return { sql, texts }
  let parameterized = ''
  let at = 0
  tokens.forEach((token, index) => {
    if (!isSearchText(tokens, index)) return
    const name = `${PREFIX}${texts.size}`
    texts.set(name, token.value)
    parameterized += `${sql.slice(at, token.start)}$${name}`
    at = token.end
  })
  return { sql: parameterized + sql.slice(at), texts }
}

/** What cannot be cut into tokens is left to the planning, which says why. */
function tokensOf(sql: string): readonly Token[] {
  try {
    return tokenize(sql)
  } catch {
    return []
  }
}

function isSearchText(tokens: readonly Token[], index: number): boolean {
  const [column, operator, text, next] = tokens.slice(Math.max(0, index - 2), index + 2)
  const isColumn = column?.kind === 'word' || column?.kind === 'name'
  return (
    index >= 2 &&
    text?.kind === 'string' &&
    text.text.startsWith("'") &&
    operator?.text === '=' &&
    isColumn &&
    column.value.toLowerCase() === 'content' &&
    (next === undefined || ENDS.has(next.text.toLowerCase()))
  )
}
