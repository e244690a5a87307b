/** A way to search that the benchmark compares, with its fields of `POST …/search`. */
export interface SearchMode {
  readonly name: string
  /** Sent along with `query`. */
  readonly fields: Readonly<Record<string, unknown>>
}

const NAMED: Readonly<Record<string, SearchMode['fields']>> = {
  default: {},
  vector: { mode: 'vector' },
  keyword: { mode: 'keyword' },
  hybrid: { mode: 'hybrid' },
  rrf: { fusion: 'rrf' },
}

/** Leaves out modes that equal the default. */
export const DEFAULT_MODES = 'default,vector,keyword,rrf'

/**
 * Reads `vector,keyword,hybrid,0.3`: names, and weights of the vectors in a hybrid search.
 * @throws Error that names anything else
 */
export function searchModes(list: string): readonly SearchMode[] {
  return list.split(',').map((part) => {
    const name = part.trim()
    const fields = NAMED[name]
    if (fields !== undefined) return { name, fields }
    const alpha = name === '' ? Number.NaN : Number(name)
    if (alpha >= 0 && alpha <= 1) return { name: `alpha ${alpha}`, fields: { alpha } }
    const known = Object.keys(NAMED).join(',')
    throw new Error(`No mode "${name}": there are ${known} and weights from 0 to 1`)
  })
}
