import type { VectorIndexDefinition, VectorIndexType } from '../../core/domain/index-definition.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import type { CatalogDeps } from './catalog-deps.ts'
import { FieldReader, type Fields } from './fields.ts'

const INVALID_INDEX = 'invalid_request'

interface Bounds {
  readonly min: number
  readonly max: number
}

/** The options of each type, beside the metric. */
const INDEX_OPTIONS: Readonly<Record<VectorIndexType, Readonly<Record<string, Bounds>>>> = {
  exact: {},
  ivf: {
    nlist: { min: 1, max: 65_536 },
    train_count: { min: 1, max: 100_000_000 },
  },
  hnsw: {
    m: { min: 2, max: 100 },
    ef_construction: { min: 4, max: 2000 },
    ef_search: { min: 1, max: 4096 },
  },
}

const INDEX_TYPES = 'hnsw, ivf, exact and auto'

/**
 * Says how the vectors of a knowledge base are searched; without a type Eider chooses again. Whatever the index, results
 * stay those of the exact search, or nearly.
 * @throws AppError `invalid_request`, `unknown_field`, `knowledge_base_not_found`
 */
export async function createVectorIndex(
  kb: KnowledgeBase,
  sent: Fields,
  deps: CatalogDeps,
): Promise<void> {
  await deps.catalog.alterKnowledgeBase(kb, { vectorIndex: vectorIndexOf(sent) })
}

/** Eider chooses again. @throws AppError `knowledge_base_not_found` */
export async function dropVectorIndex(kb: KnowledgeBase, deps: CatalogDeps): Promise<void> {
  await deps.catalog.alterKnowledgeBase(kb, { vectorIndex: null })
}

function vectorIndexOf(sent: Fields): VectorIndexDefinition | null {
  const read = new FieldReader(sent, INVALID_INDEX)
  const type = indexType(read.text('type'), sent)
  const known = type === null ? {} : INDEX_OPTIONS[type]
  const names = ['type', 'metric', ...Object.keys(known)]
  read.allowOnly(new Set(names), (name) => {
    const what = `An index of the type ${type ?? 'auto'} has no option "${name}"`
    return `${what}; there are ${names.join(', ')}`
  })
  checkMetric(read.text('metric'))
  if (type === null) return null
  const options = Object.entries(known).flatMap(([name, bounds]) => {
    const value = read.integer(name, bounds)
    return value === undefined ? [] : [[name, value] as const]
  })
  return { type, options: Object.fromEntries(options) }
}

/** null: Eider chooses. */
function indexType(text: string | undefined, sent: Fields): VectorIndexType | null {
  if (text === undefined) {
    const [first] = Object.keys(sent)
    if (first === undefined) return null
    if (Object.hasOwn(sent, 'type'))
      throw new AppError(INVALID_INDEX, `"type" is null; there are ${INDEX_TYPES}`)
    throw new AppError(
      INVALID_INDEX,
      `"${first}" needs a "type" beside it; there are ${INDEX_TYPES}`,
    )
  }
  const type = text.toLowerCase()
  if (type === 'auto') return null
  // `ivf_file` is what an existing client calls lists that lie in a file.
  if (type === 'ivf' || type === 'ivf_file') return 'ivf'
  if (type === 'hnsw' || type === 'exact') return type
  throw new AppError(
    INVALID_INDEX,
    `There is no index of the type "${text.slice(0, 80)}"; there are ${INDEX_TYPES}`,
  )
}

function checkMetric(metric: string | undefined): void {
  if (metric === undefined || metric.toLowerCase() === 'cosine') return
  const message = `The metric "${metric.slice(0, 80)}" is not supported; there is cosine`
  throw new AppError(INVALID_INDEX, message)
}
