import type { RowStream } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { QueryDeps } from '../query-deps.ts'
import { runSelect, type SelectRequest } from '../run-select.ts'

/** DuckDB's own message: the place, what is wrong, then the line and a caret. */
const PLACED = /^line \d+, column \d+: ([^\n]*)[\s\S]*$/

/** Runs a SELECT that is made of parts of a statement: its failures name no places, which would not be the caller's. */
export async function runComposedSelect(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<RowStream> {
  try {
    return await runSelect(request, deps, signal)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, title, cause } = error
    throw new AppError(code, error.message.replace(PLACED, '$1'), { title, cause })
  }
}
