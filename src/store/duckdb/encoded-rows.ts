/** The rows of a result as one body, made of DuckDB's vectors without a value of JavaScript for each. */
import type { DuckDBDataChunk, DuckDBType } from '@duckdb/node-api'
import type { RowEncoding, RowStream } from '../../core/domain/query-result.ts'
import type { ChunkSource } from './result-rows.ts'
import { textPieces } from './text-rows.ts'

/** What encodings of all rows are made of. */
export interface Encoding {
  readonly encoding: RowEncoding
  readonly names: readonly string[]
  readonly types: readonly DuckDBType[]
  /** Texts for what a number of JSON cannot say. */
  readonly isExact: boolean
}

/** Unlike a generator's, its `return` frees the connection even when nothing was read. */
export function encodedRows(
  encoding: Encoding,
  { source, first }: { readonly source: ChunkSource; readonly first: DuckDBDataChunk | null },
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const pieces = piecesOf(encoding, source, first)
      return {
        next: () => pieces.next(),
        return: async () => {
          await source.stop()
          await pieces.return(undefined)
          return { done: true, value: undefined }
        },
      }
    },
  }
}

async function* piecesOf(
  { encoding, names, types, isExact }: Encoding,
  source: ChunkSource,
  first: DuckDBDataChunk | null,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    if (encoding !== 'arrow') {
      yield* textPieces(encoding, { names, types, isExact }, { source, first })
      return
    }
    // Loaded with the first answer that wants it.
    const { arrowPieces } = await import('./arrow-stream.ts')
    yield* arrowPieces({ names, types }, source, first)
  } finally {
    await source.stop()
  }
}

/** The same for values as JSON has them. */
export async function* encodedValues(
  { encoding, names }: Omit<Encoding, 'types' | 'isExact'>,
  { batches }: RowStream,
): AsyncGenerator<Uint8Array, void, void> {
  if (encoding !== 'arrow') throw new Error('these are written by whoever has the values')
  const { arrowOfValues } = await import('./columnar/arrow-values.ts')
  const rows = []
  for await (const batch of batches) rows.push(...batch)
  yield arrowOfValues(names, rows)
}
