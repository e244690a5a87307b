/**
 * Map files contain words of the texts, so they are deleted together with their knowledge base or
 * its vectors.
 */
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { DerivedFiles } from '../../core/domain/ports/retrieval-ports.ts'

export function fileOf({ id, vectorsNumber }: Pick<KnowledgeBase, 'id' | 'vectorsNumber'>): string {
  return `map-${id}-${vectorsNumber}.bin`
}

export class MapFileUpkeep {
  readonly #files: DerivedFiles
  #names: ReadonlySet<string>
  #definitionsVersion: number

  constructor(files: DerivedFiles, { knowledgeBases, definitionsVersion }: CatalogSnapshot) {
    this.#files = files
    this.#names = new Set(knowledgeBases.map(fileOf))
    this.#definitionsVersion = definitionsVersion
  }

  /**
   * Call with every write. Checks the files only if a knowledge base or its vectors were dropped.
   */
  catalogChanged({ knowledgeBases, definitionsVersion }: CatalogSnapshot): void {
    if (definitionsVersion === this.#definitionsVersion) return
    this.#definitionsVersion = definitionsVersion
    const before = this.#names
    this.#names = new Set(knowledgeBases.map(fileOf))
    if (before.isSubsetOf(this.#names)) return
    // Files that cannot be deleted now are deleted with the next map.
    void this.#files.keepOnly(this.#names).catch(() => {})
  }
}
