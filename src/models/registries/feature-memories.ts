import { createHash } from 'node:crypto'
import type {
  FeatureMemory,
  ModelFeature,
  ModelRef,
  RefusedFeatures,
} from '../../core/domain/model-ref.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'

const MODELS_MAX = 1_000

/** Refused features are tried again after this time, because the server may have been upgraded. */
const REMEMBERED_MS = 60 * 60 * 1000

/** Shared by all threads; forgotten after an hour. @param nowMs since any starting point */
export class FeatureMemories implements RefusedFeatures {
  readonly #known = new LruMap<string, Known>({ sizeMax: MODELS_MAX })
  readonly #nowMs: () => number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  of(ref: ModelRef): FeatureMemory {
    const key = modelKey(ref)
    return {
      refused: this.#valid(key)?.features ?? new Set(),
      // Other threads may have added features of this model in the meantime.
      add: (feature) => {
        const known = this.#valid(key) ?? { sinceMs: this.#nowMs(), features: new Set() }
        known.features.add(feature)
        this.#known.set(key, known)
      },
    }
  }

  #valid(key: string): Known | undefined {
    const known = this.#known.get(key)
    if (known !== undefined && this.#nowMs() - known.sinceMs < REMEMBERED_MS) return known
    this.#known.delete(key)
    return undefined
  }
}

interface Known {
  readonly sinceMs: number
  readonly features: Set<ModelFeature>
}

/** Includes the API key, because keys may have different rights; hashed, so that none is kept. */
function modelKey({ provider, modelName, baseUrl, apiKey }: ModelRef): string {
  const parts = JSON.stringify([provider, modelName, baseUrl ?? '', apiKey ?? ''])
  return createHash('sha256').update(parts).digest('base64')
}
