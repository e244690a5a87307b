/** What each knowledge base takes, from the parts that hold something of it. */
import { nameKey } from '../core/domain/identifier.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import type { StoredDocuments } from '../core/domain/ports/document-ports.ts'
import type { VectorIndexStates } from '../core/domain/ports/search-ports.ts'
import type { KnowledgeBaseUsage, StoredSize, VectorCopy } from '../core/domain/server-state.ts'
import { AppError } from '../core/errors.ts'

interface UsageParts {
  readonly documents: Pick<StoredDocuments, 'counts'>
  readonly sizes: { of(kb: KnowledgeBase): Promise<StoredSize | null> }
  readonly vectors: { copyOf(kb: KnowledgeBase): VectorCopy }
  readonly rows: { bytesOf(kb: KnowledgeBase): number }
  readonly indexes: Pick<VectorIndexStates, 'states'>
}

/** Reads one after the other: whoever looks holds nobody up. Those that go meanwhile are left out. */
export function diskUsage({ documents, sizes, vectors, rows, indexes }: UsageParts) {
  return async (
    knowledgeBases: readonly KnowledgeBase[],
    {
      signal,
      isDiskWanted,
    }: {
      readonly signal: AbortSignal
      readonly isDiskWanted: boolean
    },
  ): Promise<readonly KnowledgeBaseUsage[]> => {
    const used: KnowledgeBaseUsage[] = []
    const states = new Map(
      indexes.states().map((one) => [knowledgeBaseKey(one.project, one.knowledgeBase), one]),
    )
    for (const kb of knowledgeBases) {
      signal.throwIfAborted()
      const index = states.get(knowledgeBaseKey(kb.projectName, kb.name))
      const counts = await unlessGone(documents.counts(kb))
      if (counts === null || index === undefined) continue
      const disk = isDiskWanted ? await sizes.of(kb) : null
      if (isDiskWanted && disk === null) continue
      const { projectName: project, name: knowledgeBase, dimensions } = kb
      used.push({
        ...{ project, knowledgeBase, dimensions, disk, index },
        ...{ documentCount: counts.documents, chunkCount: counts.chunks },
        vectors: vectors.copyOf(kb),
        rowBytes: rows.bytesOf(kb),
      })
    }
    return used
  }
}

async function unlessGone<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read
  } catch (error) {
    if (error instanceof AppError && error.code === 'knowledge_base_not_found') return null
    throw error
  }
}

function knowledgeBaseKey(project: string, name: string): string {
  return JSON.stringify([nameKey(project), nameKey(name)])
}
