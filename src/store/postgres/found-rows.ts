/** Rows that a search of a knowledge base in PostgreSQL has found, with what answers show of them. */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { NearestChunk, ShownChunk } from '../../core/domain/ports/search-ports.ts'
import { exactJson, type ResultValue } from '../../core/domain/query-result.ts'
import { VECTOR_SQL, vectorOf } from './remote-rows.ts'

export interface FoundRow extends NearestChunk {
  readonly vector: Float32Array
  /** BM25; 0 without keywords. */
  readonly score: number
  readonly texts: readonly (string | null)[]
}

/** The columns of a found row in `c`. */
export const FOUND_COLUMNS = `c.chunk_key, ${VECTOR_SQL}, c.document_id, c.chunk_id, c.content,
  c.metadata, c.typed`
/** The first column after those. */
export const DISTANCE_PLACE = 7

export class FoundRows {
  readonly #knowledgeBase: KnowledgeBase
  readonly #rows = new Map<bigint, FoundRow>()

  constructor(knowledgeBase: KnowledgeBase) {
    this.#knowledgeBase = knowledgeBase
  }

  get(key: bigint): FoundRow | undefined {
    return this.#rows.get(key)
  }

  /** @param row begins with `FOUND_COLUMNS, distance, score` */
  add(row: readonly (string | null)[]): FoundRow {
    const [key, vector, ...texts] = row
    const [distance = 0, score = 0] = row.slice(DISTANCE_PLACE).map(Number)
    const found = { key: BigInt(key ?? 0), distance, score, vector: vectorOf(vector), texts }
    this.#rows.set(found.key, found)
    return found
  }

  /** See `NearestFound`. */
  shown(keys: readonly bigint[], columns: readonly string[]): readonly ShownChunk[] | null {
    const stored = this.#knowledgeBase.storedMetadata
    const wanted = columns.map((column) => stored.find((one) => one.column === column))
    const shown: ShownChunk[] = []
    for (const key of keys) {
      const [id, chunkId, content, metadata, typed] = this.get(key)?.texts ?? []
      // `typedSql` wrote this text.
      const texts = JSON.parse(typed ?? '{}') as Readonly<Record<string, string | null>>
      const values = wanted.flatMap((one) => {
        const value = one && shownValue(one.type, texts[nameKey(one.name)] ?? null)
        return value === undefined ? [] : [value]
      })
      if (!id || !chunkId || !content || !metadata || values.length < columns.length) return null
      shown.push({ id, chunkId, content, metadata: exactJson(metadata), columns: values })
    }
    return shown
  }
}

/** undefined: of a type that only the database converts. */
function shownValue(type: string, text: string | null): ResultValue | undefined {
  if (text === null || type === 'VARCHAR') return text
  if (type === 'BOOLEAN') return text === 'true'
  const number = Number(text)
  if (type === 'BIGINT' && Number.isSafeInteger(number)) return number
  if (type === 'DOUBLE' && Number.isFinite(number)) return number
  return undefined
}
