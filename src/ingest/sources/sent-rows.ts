import type { Row } from '../../domain/document.ts'

/** The rows of the request itself. */
export async function* sentRows(rows: readonly Row[]): AsyncGenerator<Row> {
  yield* rows
}
