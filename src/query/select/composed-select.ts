import type { RowStream } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import type { QueryDeps } from './query-deps.ts'
import { runSelect, type SelectRequest } from './run-select.ts'

/** Runs a SELECT that is made of parts of a statement: its failures name no places, which would not be the caller's. */
export async function runComposedSelect(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<RowStream> {
  return composing(() => runSelect(request, deps, signal))
}

/** Work on such a SELECT. */
export async function composing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, title, cause } = error
    throw new AppError(code, withoutPlace(error.message), { title, cause })
  }
}

/**
 * An expression of the caller as a part of a SELECT: in parentheses of its own, so that it stays one, and before the
 * end of the line, where a comment ends.
 */
export function enclosed(expression: string): string {
  return `(${expression}\n)`
}

/** DuckDB's own message: the place, what is wrong, then the line and a caret. */
const PLACED = /^line \d+, column (\d+): ([^\n]*)[\s\S]*$/

function withoutPlace(message: string): string {
  const [, column, text] = PLACED.exec(message) ?? []
  if (text === undefined) return message
  const isOurParenthesis = column === '1' && text.endsWith('at or near ")"')
  return isOurParenthesis ? 'syntax error at the end of the expression' : text
}
