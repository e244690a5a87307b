import type {
  KnowledgeBase,
  KnowledgeBaseChanges,
  ReembeddingProgress,
} from '../../core/domain/knowledge-base.ts'
import {
  BUILTIN_EMBEDDING_MODEL,
  BUILTIN_PROVIDER,
  EMBED_PROBE_MS,
  EMBEDDING_OPTIONS,
  type ModelRef,
} from '../../core/domain/model-ref.ts'
import type { EmbedderProbe } from '../../core/domain/ports/model-ports.ts'
import { AppError, dimensionMismatch } from '../../core/errors.ts'
import type { CatalogDeps } from './define-database.ts'
import type { Fields } from './fields.ts'
import { INVALID_KNOWLEDGE_BASE, mergedFields, modelRefOf, refuseOptions } from './fields.ts'

export interface EmbeddingChange {
  readonly changes: Pick<KnowledgeBaseChanges, 'embeddingModel' | 'reembedding'>
  readonly warnings: readonly string[]
}

/**
 * Checks a change of the embedding model, its address or its key, with one test call to the model.
 * A different model takes over when all chunks are re-embedded, or at once if there are none.
 * Naming the current model cancels a running re-embedding.
 * @param vectorSize the vector length, if the client requires one
 * @throws AppError `provider_refused`, `provider_failed` if the model is needed and cannot be
 * reached, `unknown_provider`, `invalid_knowledge_base`, `dimension_mismatch`
 */
export async function embeddingChangeOf(
  kb: KnowledgeBase,
  fields: Fields,
  vectorSize: number | undefined,
  deps: CatalogDeps,
): Promise<EmbeddingChange> {
  const model = embeddingModelOf(fields, namedModel(kb, fields))
  await deps.checkAddress(model)
  const probe = await deps.embedders.probe(model, EMBED_PROBE_MS)
  const dimensions = checkedDimensions(probe, model, vectorSize)
  const isEmpty = await deps.catalog.isEmpty(kb)
  const isOther = !isSameModel(model, kb.embeddingModel)
  const isAsLong = dimensions === null || dimensions === kb.dimensions
  const warnings = probe.kind === 'unreachable' ? [probe.warning] : []
  if (!isOther && !isEmpty && !isAsLong) {
    throw dimensionMismatch(`the model gives ${dimensions}, ${kb.name} holds ${kb.dimensions}`)
  }
  if (!isOther && isAsLong) {
    const isNamed = isString(fields.provider) || isString(fields.model_name)
    const ends = isNamed && kb.nextEmbeddingModel !== null
    return {
      changes: { embeddingModel: model, ...(ends ? { reembedding: null } : {}) },
      warnings,
    }
  }
  if (probe.kind === 'unreachable' && !isEmpty) {
    throw new AppError('provider_failed', `${probe.warning}; ${kb.name} keeps its model`)
  }
  return { changes: { reembedding: { model, dimensions } }, warnings }
}

/** @param stored the model to change; null if there is none */
export function embeddingModelOf(fields: Fields, stored: ModelRef | null = null): ModelRef {
  refuseOptions(fields, EMBEDDING_OPTIONS, INVALID_KNOWLEDGE_BASE)
  const own = stored === null ? fields : mergedFields(stored, fields)
  const ref = modelRefOf(
    own,
    { provider: stored?.provider ?? BUILTIN_PROVIDER, code: INVALID_KNOWLEDGE_BASE },
    stored,
  )
  if (ref.provider !== BUILTIN_PROVIDER || ref.modelName !== '') return ref
  return { ...ref, modelName: BUILTIN_EMBEDDING_MODEL }
}

/** null if not known yet. @throws AppError `dimension_mismatch` if the client requires another */
export function checkedDimensions(
  probe: EmbedderProbe,
  { options }: ModelRef,
  vectorSize: number | undefined,
): number | null {
  if (probe.kind === 'unreachable') return null
  const { dimensions } = probe
  for (const [name, demanded] of Object.entries({
    vector_size: vectorSize,
    dimensions: options.dimensions,
  })) {
    if (demanded === undefined || demanded === dimensions) continue
    const sizes = `the model gives ${dimensions}, "${name}" says ${JSON.stringify(demanded)}`
    throw dimensionMismatch(sizes)
  }
  return dimensions
}

/** Returns a running re-embedding in the form shown in `params`. */
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

/** Returns the model that the fields are about: the one they name, or the current one. */
function namedModel(
  { embeddingModel, nextEmbeddingModel }: KnowledgeBase,
  sent: Fields,
): ModelRef | null {
  const provider = isString(sent.provider) ? sent.provider.trim().toLowerCase() : undefined
  const isNamed = (model: ModelRef) => {
    return (provider ?? model.provider) === model.provider && sent.model_name === model.modelName
  }
  if (nextEmbeddingModel !== null && isNamed(nextEmbeddingModel)) return nextEmbeddingModel
  // Settings for one provider do not carry over to another.
  return (provider ?? embeddingModel.provider) === embeddingModel.provider
    ? withoutSize(embeddingModel, sent)
    : null
}

/** Removes the vector length if the fields name a different model. */
function withoutSize(model: ModelRef, { model_name: sentName }: Fields): ModelRef {
  if (sentName === undefined || sentName === model.modelName) return model
  const { dimensions: _, ...options } = model.options
  return { ...model, options }
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}

function isSameModel(first: ModelRef, second: ModelRef): boolean {
  return first.provider === second.provider && first.modelName === second.modelName
}
