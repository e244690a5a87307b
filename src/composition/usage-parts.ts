/** What each knowledge base takes, from the parts that hold something of it. */
import { nameKey } from '../domain/identifier.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { VectorIndexStates } from '../domain/ports/search-ports.ts'
import type { KnowledgeBaseUsage, StoredSize, VectorCopy } from '../domain/server-state.ts'

interface UsageParts {
  readonly sizes: { of(kb: KnowledgeBase): Promise<StoredSize | null> }
  readonly vectors: { copyOf(kb: KnowledgeBase): VectorCopy }
  readonly rows: { bytesOf(kb: KnowledgeBase): number }
  readonly indexes: Pick<VectorIndexStates, 'states'>
}

/** Reads one after the other: whoever looks holds nobody up. Those that go meanwhile are left out. */
export function usageOf({ sizes, vectors, rows, indexes }: UsageParts) {
  return async (
    knowledgeBases: readonly KnowledgeBase[],
    signal: AbortSignal,
  ): Promise<readonly KnowledgeBaseUsage[]> => {
    const used: KnowledgeBaseUsage[] = []
    const states = new Map(
      indexes.states().map((one) => [keyOf(one.project, one.knowledgeBase), one]),
    )
    for (const kb of knowledgeBases) {
      signal.throwIfAborted()
      const disk = await sizes.of(kb)
      const index = states.get(keyOf(kb.projectName, kb.name))
      if (disk === null || index === undefined) continue
      const { projectName: project, name: knowledgeBase, dimensions } = kb
      used.push({
        ...{ project, knowledgeBase, dimensions, disk, index },
        vectors: vectors.copyOf(kb),
        rowBytes: rows.bytesOf(kb),
      })
    }
    return used
  }
}

function keyOf(project: string, name: string): string {
  return JSON.stringify([nameKey(project), nameKey(name)])
}
