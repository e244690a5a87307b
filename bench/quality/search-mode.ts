/** A way to search that the benchmark compares, and the SQL that asks for it. */
export interface SearchMode {
  readonly name: string
  /** Stands behind `content = :question`. */
  readonly condition: string
}

const NAMED: Readonly<Record<string, string>> = {
  vector: '',
  keyword: ' AND hybrid_search_alpha = 0',
  hybrid: ' AND hybrid_search = true',
  rrf: " AND hybrid_search_fusion = 'rrf'",
}

export const DEFAULT_MODES = Object.keys(NAMED).join(',')

/**
 * Reads `vector,keyword,hybrid,0.3`: names, and weights of the vectors in a hybrid search.
 * @throws Error that names what is none of these
 */
export function searchModes(list: string): readonly SearchMode[] {
  return list.split(',').map((part) => {
    const name = part.trim()
    const condition = NAMED[name]
    if (condition !== undefined) return { name, condition }
    const alpha = name === '' ? Number.NaN : Number(name)
    if (alpha >= 0 && alpha <= 1) {
      return { name: `alpha ${alpha}`, condition: ` AND hybrid_search_alpha = ${alpha}` }
    }
    throw new Error(`No mode "${name}": there are ${DEFAULT_MODES} and weights from 0 to 1`)
  })
}
