/** Maps of knowledge bases: what makes them is loaded with the first request for one. */
import type { MapUses } from '../api/http/request/route-context.ts'
import type { QueryDeps } from '../query/select/query-deps.ts'
import type { ComputedMaps } from '../retrieval/map/computed-maps.ts'
import type { Store } from '../store/store.ts'
import { LATER } from './later.ts'

export function mapUsesOf(
  store: Pick<Store, 'vectors' | 'engine' | 'mapFiles' | 'catalog'>,
  queryDeps: QueryDeps,
  onFailure: (error: unknown) => void,
): MapUses & { close(): Promise<void> } {
  let maps: Promise<ComputedMaps> | undefined
  const computed = () => {
    maps ??= LATER.maps().then((module) => {
      return new module.ComputedMaps({
        vectors: store.vectors,
        reader: store.engine,
        files: store.mapFiles,
        snapshot: () => store.catalog.snapshot(),
        workerUrl: new URL('./threads/map-entry.ts', import.meta.url).href,
        nowMs: queryDeps.nowMs,
        onFailure,
      })
    })
    return maps
  }
  return {
    stateOf: async (...asked) => (await computed()).stateOf(...asked),
    values: async (at, of, signal) => {
      return (await LATER.mapPoints()).mapValues(at, of, queryDeps, signal)
    },
    chunks: async (at, points) => {
      return (await LATER.mapPoints()).chunksOfPoints(at, points, queryDeps)
    },
    close: async () => (await maps)?.close(),
  }
}
