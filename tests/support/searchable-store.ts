import { openRetrieval, type Retrieval } from '../../src/retrieval/open-retrieval.ts'
import type { VectorCachesOptions } from '../../src/retrieval/vector-caches.ts'
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts'

/** A store whose vectors and words are searched in memory, as the product searches them. */
export interface SearchableStore extends Store, Retrieval {}

export async function openSearchableStore(
  options: Partial<StoreOptions & VectorCachesOptions> = {},
): Promise<SearchableStore> {
  const { bytesMax = 512 * 1024 ** 2, wholeVectorsMax = 250_000, ...storeOptions } = options
  const store = await openStore({ directory: ':memory:', ...storeOptions })
  const retrieval = openRetrieval(store, { bytesMax, wholeVectorsMax })
  const close = async () => {
    await retrieval.vectorCaches.close()
    await store.close()
  }
  return { ...store, ...retrieval, close }
}
