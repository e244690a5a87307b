import {
  openRetrieval,
  type Retrieval,
  type RetrievalOptions,
} from '../../src/retrieval/open-retrieval.ts'
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts'

/** A store whose vectors and words are searched in memory, as in the product. */
export interface SearchableStore extends Store, Retrieval {}

export async function openSearchableStore(
  options: Partial<StoreOptions & RetrievalOptions> = {},
): Promise<SearchableStore> {
  const {
    bytesMax = 512 * 1024 ** 2,
    wholeVectorsMax = 250_000,
    rowBytesMax = 64 * 1024 ** 2,
    advisedMin = 50_000,
    ...storeOptions
  } = options
  const store = await openStore({ directory: ':memory:', ...storeOptions })
  const retrieval = openRetrieval(store, {
    bytesMax,
    wholeVectorsMax,
    rowBytesMax,
    advisedMin,
  })
  const close = async () => {
    await retrieval.vectorCaches.close()
    await retrieval.rowCaches.close()
    await store.close()
  }
  return { ...store, ...retrieval, close }
}
