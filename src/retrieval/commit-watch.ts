import type { CatalogSnapshot } from '../domain/catalog-snapshot.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { CommitListener } from '../domain/ports/retrieval-ports.ts'
import type { CommittedStates, WatchedState } from '../domain/ports/search-ports.ts'

interface Commits {
  /** That have begun. */
  count: number
  /** That have begun and not ended. */
  pending: number
  ended: PromiseWithResolvers<void> | null
}

/** Counts the commits of each knowledge base, so that what was found before one is not used after it. */
export class CommitWatch implements CommittedStates, CommitListener {
  readonly #snapshot: () => CatalogSnapshot
  readonly #commits = new Map<number, Commits>()

  constructor(snapshot: () => CatalogSnapshot) {
    this.#snapshot = snapshot
  }

  async watch(kb: Pick<KnowledgeBase, 'id'>): Promise<WatchedState | null> {
    const commits = this.#commitsOf(kb)
    while (commits.ended !== null) await commits.ended.promise
    const knowledgeBase = this.current(kb)
    if (knowledgeBase === undefined) return null
    const { count: number } = commits
    return { knowledgeBase, number, isCurrent: () => commits.count === number }
  }

  current({ id }: Pick<KnowledgeBase, 'id'>): KnowledgeBase | undefined {
    return this.#snapshot().knowledgeBases.find((kb) => kb.id === id)
  }

  isCommitting(kb: Pick<KnowledgeBase, 'id'>): boolean {
    return this.#commitsOf(kb).pending > 0
  }

  needsChange(): boolean {
    return false
  }

  beginCommit(kb: Pick<KnowledgeBase, 'id'>): void {
    const commits = this.#commitsOf(kb)
    commits.count += 1
    commits.pending += 1
    commits.ended ??= Promise.withResolvers()
  }

  endCommit(kb: Pick<KnowledgeBase, 'id'>): void {
    const commits = this.#commitsOf(kb)
    commits.pending = Math.max(0, commits.pending - 1)
    if (commits.pending > 0) return
    commits.ended?.resolve()
    commits.ended = null
  }

  catalogChanged({ knowledgeBases }: CatalogSnapshot): void {
    // Seldom, since looking for those that are gone takes as long as there are knowledge bases.
    if (this.#commits.size <= 2 * knowledgeBases.length + 16) return
    const ids = new Set(knowledgeBases.map(({ id }) => id))
    for (const id of this.#commits.keys()) if (!ids.has(id)) this.#commits.delete(id)
  }

  #commitsOf({ id }: Pick<KnowledgeBase, 'id'>): Commits {
    const known = this.#commits.get(id)
    if (known !== undefined) return known
    const commits: Commits = { count: 0, pending: 0, ended: null }
    this.#commits.set(id, commits)
    return commits
  }
}
