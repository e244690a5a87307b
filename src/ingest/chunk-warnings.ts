import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import type { EmbedderReach, EmbedderRegistry } from '../core/domain/ports/model-ports.ts'
import type { ChunkStore, CutCounts } from '../core/domain/ports/store-ports.ts'
import { AppError } from '../core/errors.ts'

/** What is to be said of the stored chunks of a knowledge base. Costs little where nothing was written since. */
export async function chunkWarnings(
  kb: KnowledgeBase,
  {
    chunks,
    embedders,
  }: {
    readonly chunks: Pick<ChunkStore, 'cutCounts'>
    readonly embedders: Pick<EmbedderRegistry, 'embedder'>
  },
): Promise<readonly string[]> {
  try {
    const { reach } = embedders.embedder(kb.embeddingModel)
    return reach === undefined ? [] : cutWarning(await chunks.cutCounts(kb), reach)
  } catch (error) {
    // The model cannot be called, or the knowledge base is gone: others say so.
    if (error instanceof AppError) return []
    throw error
  }
}

/** Nothing where every chunk is read whole. */
export function cutWarning(
  { cutCount, chunkCount }: CutCounts,
  { tokensMax }: EmbedderReach,
): readonly string[] {
  if (cutCount === 0) return []
  const share = `${cutCount} of ${chunkCount} chunks are longer than the ${tokensMax} tokens`
  const what = 'that the embedding model reads, and what comes after these is in no vector'
  const how = 'set a smaller chunk_size or leave it out, and insert the documents again'
  return [`${share} ${what}: ${how}`]
}
