/** Messages to the thread that computes a map, in this order, and its answers. */
import type { Language } from '../../core/domain/language.ts'
import type { ChunkMap, MapProgress } from '../../core/domain/ports/search-ports.ts'
import type { RegionText } from './region-words.ts'

export type ToMapThread =
  /** Some of the vectors, to find their principal components. */
  | {
      readonly kind: 'sample'
      readonly values: Float32Array
      readonly dimensions: number
      /** The number of rows that will follow. */
      readonly rowsMax: number
    }
  /** Vectors with their chunks' keys. Sent as often as needed. */
  | { readonly kind: 'rows'; readonly keys: BigInt64Array; readonly values: Float32Array }
  | { readonly kind: 'place' }
  | { readonly kind: 'name'; readonly texts: readonly RegionText[]; readonly language: Language }

/** Chunks whose texts help to name their regions. */
export interface WantedTexts {
  readonly keys: BigInt64Array
  readonly regions: Uint16Array
}

export type PlacedMap = Pick<ChunkMap, 'keys' | 'x' | 'y' | 'regionOf' | 'regions'>

export type FromMapThread =
  | { readonly kind: 'progress'; readonly progress: MapProgress }
  | { readonly kind: 'taken' }
  | ({ readonly kind: 'placed' } & WantedTexts)
  | ({ readonly kind: 'named' } & PlacedMap)

/** Copies these rows with their keys. @param values row by row */
export function rowsAt(
  places: readonly number[] | Uint32Array,
  { keys, values }: { readonly keys: BigInt64Array; readonly values: Float32Array },
  dimensions: number,
) {
  const taken = new Float32Array(places.length * dimensions)
  for (const [to, at] of places.entries()) {
    taken.set(values.subarray(at * dimensions, (at + 1) * dimensions), to * dimensions)
  }
  return { keys: BigInt64Array.from(places, (at) => keys[at] ?? 0n), values: taken }
}

/** The progress at which each stage starts and ends, in proportion to its duration. */
export const WAY: Readonly<Record<MapProgress['stage'], readonly [number, number]>> = {
  waiting: [0, 0],
  reading: [0, 0.15],
  neighbours: [0.15, 0.6],
  layout: [0.6, 0.95],
  labels: [0.95, 1],
}
