import type { RowStatement } from '../../sql/dialect/parse-rows.ts'
import type { QueryDeps } from '../query-deps.ts'
import { matchingChunks } from './matching-chunks.ts'
import type { RowRequest } from './row-request.ts'

type Delete = Extract<RowStatement, { kind: 'delete' }>

/** Removes exactly the chunks that its WHERE found. @returns how many were still there */
export async function deleteRows(
  request: RowRequest<Delete>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<number> {
  const keys: bigint[] = []
  for await (const chunks of matchingChunks(request, { expressions: [], deps }, signal)) {
    for (const { chunkKey } of chunks) keys.push(chunkKey)
  }
  return keys.length === 0 ? 0 : deps.chunks.removeChunks(request.kb, keys)
}
