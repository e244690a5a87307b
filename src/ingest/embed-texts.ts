import { LIMITS } from '../domain/limits.ts'
import type { Embedder } from '../domain/ports.ts'
import { AppError } from '../errors.ts'
import { TimeSlice } from '../runtime/scheduling.ts'
import { INGEST_LIMITS } from './ingest-limits.ts'

/**
 * The vectors of texts, some texts at a time.
 * @throws AppError those of the embedder, and `provider_failed` where it gives another number of vectors than of texts
 */
export async function embedTexts(
  texts: ReadonlySet<string>,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Float32Array>> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const vectors = new Map<string, Float32Array>()
  let batch: string[] = []
  const embedBatch = async () => {
    await slice.yieldIfSpent(signal)
    const found = await embedder.embed(batch, signal)
    for (const [index, text] of batch.entries()) {
      const vector = found[index]
      if (vector === undefined || found.length !== batch.length) throw miscounted(found, batch)
      vectors.set(text, vector)
    }
    batch = []
  }
  for (const text of texts) {
    batch.push(text)
    if (batch.length === LIMITS.insertBatchChunks) await embedBatch()
  }
  if (batch.length > 0) await embedBatch()
  return vectors
}

function miscounted(vectors: readonly Float32Array[], texts: readonly string[]): AppError {
  const counts = `${vectors.length} vectors for ${texts.length} texts`
  return new AppError('provider_failed', `The embedding model answered ${counts}`)
}
