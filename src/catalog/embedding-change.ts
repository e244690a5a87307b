import type { KnowledgeBase, KnowledgeBaseChanges } from '../domain/knowledge-base.ts'
import { LIMITS } from '../domain/limits.ts'
import { BUILTIN_EMBEDDING_MODEL, BUILTIN_PROVIDER, type ModelRef } from '../domain/model-ref.ts'
import type { EmbedderProbe } from '../domain/ports.ts'
import type { ReembeddingProgress } from '../domain/reembedding.ts'
import { AppError } from '../errors.ts'
import type { CatalogDeps } from './catalog-deps.ts'
import type { Fields } from './fields.ts'
import { MASK, maskedOptions, modelRefOf } from './model-fields.ts'

const CODE = 'invalid_knowledge_base'

export interface EmbeddingChange {
  readonly changes: Pick<KnowledgeBaseChanges, 'embeddingModel' | 'nextEmbedding'>
  /** Of a model that could not be tried. */
  readonly warnings: readonly string[]
}

interface AskedModel {
  readonly fields: Fields
  /** Of the vectors, where the caller demands it. */
  readonly vectorSize: number | undefined
}

/**
 * What another embedding model, or another address or key of the same, means for a knowledge base. The model is tried
 * once. Another one takes over when its vectors are complete, or at once where there are no chunks; that in force now
 * ends a change that is under way.
 * @throws AppError `provider_refused`, `provider_failed` for one that cannot be reached and is needed, `unknown_provider`,
 * `invalid_knowledge_base`, `dimension_mismatch`
 */
export async function embeddingChangeOf(
  kb: KnowledgeBase,
  { fields, vectorSize }: AskedModel,
  deps: CatalogDeps,
): Promise<EmbeddingChange> {
  const model = embeddingModelOf(fields, namedModel(kb, fields))
  const probe = await deps.embedders.probe(model, LIMITS.embedProbeMs)
  const dimensions = checkedDimensions(probe, model, vectorSize)
  const isEmpty = await deps.catalog.isEmpty(kb)
  const isOther = !isSameModel(model, kb.embeddingModel)
  const isAsLong = dimensions === null || dimensions === kb.dimensions
  const warnings = probe.kind === 'unreachable' ? [probe.warning] : []
  if (!isOther && !isEmpty && !isAsLong) {
    const sizes = `the model gives ${dimensions}, ${kb.name} holds ${kb.dimensions}`
    throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
  }
  if (!isOther && isAsLong) {
    const isNamed = isText(fields.provider) || isText(fields.model_name)
    const ends = isNamed && kb.nextEmbeddingModel !== null
    return {
      changes: { embeddingModel: model, ...(ends ? { nextEmbedding: null } : {}) },
      warnings,
    }
  }
  if (probe.kind === 'unreachable' && !isEmpty) {
    throw new AppError('provider_failed', `${probe.warning}; ${kb.name} keeps its model`)
  }
  return { changes: { nextEmbedding: { model, dimensions } }, warnings }
}

/** @param stored the model that is altered; null: there is none */
export function embeddingModelOf(fields: Fields, stored: ModelRef | null = null): ModelRef {
  const own = stored === null ? fields : mergedFields(stored, fields)
  const ref = modelRefOf(
    own,
    { provider: stored?.provider ?? BUILTIN_PROVIDER, code: CODE },
    stored,
  )
  if (ref.provider !== BUILTIN_PROVIDER || ref.modelName !== '') return ref
  return { ...ref, modelName: BUILTIN_EMBEDDING_MODEL }
}

/**
 * The length of the model's vectors; null: it is not known yet.
 * @throws AppError `dimension_mismatch` where another one is demanded
 */
export function checkedDimensions(
  probe: EmbedderProbe,
  { options }: ModelRef,
  vectorSize: number | undefined,
): number | null {
  if (probe.kind === 'unreachable') return null
  const { dimensions } = probe
  for (const [name, asked] of Object.entries({
    vector_size: vectorSize,
    dimensions: options.dimensions,
  })) {
    if (asked === undefined || asked === dimensions) continue
    const sizes = `the model gives ${dimensions}, "${name}" says ${JSON.stringify(asked)}`
    throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
  }
  return dimensions
}

/** What is stored, its secrets masked, with what was sent on top. */
export function mergedFields(stored: ModelRef, sent: Fields): Fields {
  return {
    provider: stored.provider,
    model_name: stored.modelName,
    ...(stored.apiKey === undefined ? {} : { api_key: MASK }),
    ...(stored.baseUrl === undefined ? {} : { base_url: stored.baseUrl }),
    ...maskedOptions(stored),
    ...sent,
  }
}

/** How a change that is under way is shown in `params`. */
export function shownReembedding(
  { nextEmbeddingModel }: KnowledgeBase,
  progress: ReembeddingProgress | null,
): Fields {
  if (nextEmbeddingModel === null) return {}
  const { provider, modelName } = nextEmbeddingModel
  const counts = progress && { done: progress.doneCount, total: progress.chunkCount }
  const failed = progress?.error == null ? {} : { error: progress.error }
  return { reembedding: { provider, model_name: modelName, ...counts, ...failed } }
}

/** Which of its models the fields are about: the one that they name, or that in force. */
function namedModel(
  { embeddingModel, nextEmbeddingModel }: KnowledgeBase,
  sent: Fields,
): ModelRef | null {
  const provider = isText(sent.provider) ? sent.provider.trim().toLowerCase() : undefined
  const isNamed = (model: ModelRef) => {
    return (provider ?? model.provider) === model.provider && sent.model_name === model.modelName
  }
  if (nextEmbeddingModel !== null && isNamed(nextEmbeddingModel)) return nextEmbeddingModel
  // Nothing of the settings for one provider is meant for another one.
  return (provider ?? embeddingModel.provider) === embeddingModel.provider
    ? withoutSize(embeddingModel, sent)
    : null
}

/** The length that was demanded of one model is none of another one's. */
function withoutSize(model: ModelRef, { model_name: sentName }: Fields): ModelRef {
  if (sentName === undefined || sentName === model.modelName) return model
  const { dimensions: _, ...options } = model.options
  return { ...model, options }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isSameModel(one: ModelRef, other: ModelRef): boolean {
  return one.provider === other.provider && one.modelName === other.modelName
}
