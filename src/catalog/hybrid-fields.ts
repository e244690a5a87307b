import { FUSIONS, fusionNamed } from '../domain/hybrid-search.ts'
import { AppError } from '../errors.ts'
import type { FieldReader, Fields } from './fields.ts'

const CODE = 'invalid_knowledge_base'

/** What searches of a knowledge base do unless they say otherwise. */
export const HYBRID_FIELDS = [
  'hybrid_search',
  'hybrid_search_alpha',
  'hybrid_search_fusion',
] as const

/**
 * The fields that were sent, as `params` holds them.
 * @throws AppError `invalid_knowledge_base` for a value that searches could not use
 */
export function hybridParams(read: FieldReader): Fields {
  const isHybrid = read.truth('hybrid_search')
  const alpha = read.number('hybrid_search_alpha', { min: 0, max: 1 })
  const name = read.text('hybrid_search_fusion')
  const fusion = name === undefined ? undefined : fusionNamed(name)
  if (name !== undefined && fusion === undefined) {
    const known = FUSIONS.join(', ')
    throw new AppError(CODE, `Unknown hybrid_search_fusion "${name}". Available: ${known}`)
  }
  return {
    ...(isHybrid === undefined ? {} : { hybrid_search: isHybrid }),
    ...(alpha === undefined ? {} : { hybrid_search_alpha: alpha }),
    ...(fusion === undefined ? {} : { hybrid_search_fusion: fusion }),
  }
}
