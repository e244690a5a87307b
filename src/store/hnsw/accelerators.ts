import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { Accelerator } from '../../retrieval/accelerator.ts'
import { IvfAccelerator } from '../../retrieval/ivf/ivf-accelerator.ts'
import type { ExactIndex } from '../../retrieval/vectors/exact-index.ts'
import type { StoredEngine } from '../duckdb/engine.ts'
import type { Extensions } from './extensions.ts'
import { HnswAccelerator } from './hnsw-accelerator.ts'
import { HnswDatabase } from './hnsw-database.ts'

/** Of all graphs' tables; the graphs themselves lie beside it. */
const GRAPHS_MEMORY_LIMIT = '4GiB'

interface AskedIndexesParts {
  readonly engine: StoredEngine
  readonly extensions: Extensions
}

/** Makes the indexes that owners ask for, and holds what the graphs among them share. */
export class Accelerators {
  readonly #parts: AskedIndexesParts
  #graphs: Promise<HnswDatabase> | null = null

  constructor(parts: AskedIndexesParts) {
    this.#parts = parts
  }

  /** null: nothing but the copy of the vectors is asked for. */
  make(kb: KnowledgeBase, index: ExactIndex): Accelerator | null {
    const { vectorIndex: definition, dimensions } = kb
    if (definition === null || definition.type === 'exact' || dimensions === null) return null
    const { options } = definition
    if (definition.type === 'ivf') return new IvfAccelerator(index, options)
    if (!this.#parts.extensions.possibility().possible) return null
    const graphs = () => this.#openGraphs()
    const { engine } = this.#parts
    const ids = { id: kb.id, projectId: kb.projectId, vectorsNumber: kb.vectorsNumber }
    return new HnswAccelerator({ engine, graphs, ids, dimensions, index, options })
  }

  async close(): Promise<void> {
    const graphs = await this.#graphs?.catch(() => null)
    await graphs?.close()
  }

  #openGraphs(): Promise<HnswDatabase> {
    this.#graphs ??= this.#opened()
    return this.#graphs
  }

  async #opened(): Promise<HnswDatabase> {
    const { extensions } = this.#parts
    const extensionPath = extensions.path
    if (extensionPath === null) throw new Error('the extension is not there any more')
    try {
      return await HnswDatabase.open({ extensionPath, memoryLimit: GRAPHS_MEMORY_LIMIT })
    } catch (error) {
      extensions.refuse(error)
      throw error
    }
  }
}
