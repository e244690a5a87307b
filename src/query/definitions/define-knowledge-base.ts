import { findIn, requireProject } from '../../core/domain/access/catalog-snapshot.ts'
import type {
  KnowledgeBase,
  KnowledgeBaseChanges,
  KnowledgeBaseDraft,
  Preprocessing,
} from '../../core/domain/knowledge-base.ts'
import { DEFAULT_LANGUAGE } from '../../core/domain/language.ts'
import { BUILTIN_PROVIDER, EMBED_PROBE_MS } from '../../core/domain/model-ref.ts'
import { checkedName } from '../../core/domain/names.ts'
import { AppError, dimensionMismatch } from '../../core/errors.ts'
import {
  checkedDimensions,
  type EmbeddingChange,
  embeddingChangeOf,
  embeddingModelOf,
} from './change-embedding-model.ts'
import type { CatalogDeps } from './define-database.ts'
import {
  FieldReader,
  type Fields,
  INVALID_KNOWLEDGE_BASE,
  invalidKnowledgeBase,
  withNestedParams,
} from './fields.ts'
import {
  columnFields,
  fieldsOfExport,
  languageParam,
  readExportDefinition,
  rerankingModelOf,
  SEARCH_FIELDS,
  searchParams,
  vectorSize,
} from './knowledge-base-fields.ts'
import { preprocessingOf } from './preprocessing-fields.ts'
import { attachedFields, changedDefinition, createStored, storageOf } from './storage-fields.ts'

const DEFINING_FIELDS = [
  'embedding_model',
  'reranking_model',
  'content_columns',
  'metadata_columns',
  'id_column',
  'preprocessing',
  'language',
  ...SEARCH_FIELDS,
] as const

const KEPT_PARAMS = [
  'vector_size',
  // Name and metadata of a vector store in OpenAI's API.
  'vector_store',
] as const

/** MindsDB settings that can only be false in Eider, each with what to use instead. */
const NEVER: Readonly<Record<string, string>> = {
  is_sparse: 'vectors are dense, and words are found by hybrid_search',
  kb_no_upsert: 'a row with a stored id always replaces that document',
  kb_skip_existing: 'an INSERT says it after USING',
}

/** Clients that save what they read send these back in `params`. */
export const SHOWN_PARAMS: ReadonlySet<string> = new Set([
  'warnings',
  'reembedding',
  'keyword_index',
  'created_embedding_model',
  // Fields that MindsDB shows.
  'version',
  'default_vector_storage',
])

export const ALTER_FIELDS = new Set<string>([
  ...DEFINING_FIELDS,
  ...KEPT_PARAMS,
  ...Object.keys(NEVER),
])
const CREATE_FIELDS = new Set<string>(['name', 'storage', 'attach', ...ALTER_FIELDS])

/**
 * Creates a knowledge base from the API's fields; docs/contract.md 5 lists the defaults. Makes one
 * test call to the embedding model: if the model cannot be reached, `params` has a warning; if it
 * refuses, nothing is created.
 * @throws AppError `project_not_found`, `knowledge_base_exists`, `missing_parameter`,
 * `invalid_name`, `invalid_knowledge_base`, `unknown_provider`, `address_refused`,
 * `provider_refused`, `dimension_mismatch`
 */
export async function createKnowledgeBase(
  projectName: string,
  sent: Fields,
  deps: CatalogDeps,
): Promise<KnowledgeBase> {
  const project = requireProject(deps.catalog.snapshot(), projectName)
  const own = withNestedParams(sent, INVALID_KNOWLEDGE_BASE, SHOWN_PARAMS)
  const { name: asName, storage } = own
  const isAttached = new FieldReader(own, INVALID_KNOWLEDGE_BASE).truth('attach') === true
  const { place, isCopied, ...stored } = storageOf(storage, String(asName), deps)
  const attached = isAttached
    ? await attachedFields(own, { name: String(asName), place }, deps)
    : null
  const fields =
    attached === null
      ? own
      : withNestedParams(attached.fields, INVALID_KNOWLEDGE_BASE, SHOWN_PARAMS)
  const read = new FieldReader(fields, INVALID_KNOWLEDGE_BASE)
  const name = read.text('name')
  if (name === undefined) {
    throw new AppError('missing_parameter', 'Must provide "name" field in "knowledge_base"')
  }
  checkedName('knowledge base', name)
  read.allowOnly(CREATE_FIELDS, notAllowed)
  refuseNever(read)
  if (findIn(deps.catalog.snapshot().knowledgeBases, project, name) !== undefined) {
    const detail = `Knowledge Base with name ${name} already exists`
    throw new AppError('knowledge_base_exists', detail)
  }
  const embeddingModel = embeddingModelOf(read.object('embedding_model') ?? {})
  await deps.checkAddress(embeddingModel)
  const probe = await deps.embedders.probe(embeddingModel, EMBED_PROBE_MS)
  const warnings = probe.kind === 'unreachable' ? [probe.warning] : []
  const size = vectorSize(read)
  const draft: KnowledgeBaseDraft = {
    name,
    projectId: project.id,
    ...stored,
    embeddingModel,
    rerankingModel: await rerankingModelOf(fields.reranking_model, null, deps),
    contentColumns: null,
    metadataColumns: null,
    idColumn: null,
    ...columnFields(read),
    preprocessing: await checkedPreprocessing(preprocessingOf(read.object('preprocessing')), deps),
    params: {
      ...keptParams(fields),
      // All servers that share the tables must create the same terms.
      ...(place === null ? {} : { language: DEFAULT_LANGUAGE }),
      ...languageParam(read),
      ...searchParams(read),
      created_embedding_model: `kb_embedding_${name}`,
      ...(warnings.length > 0 ? { warnings } : {}),
    },
    // If the test call failed, the first vectors must have the requested length.
    dimensions: checkedDimensions(probe, embeddingModel, size) ?? size ?? null,
  }
  checkAttachedSize(draft, attached)
  return createStored(draft, { place, isAttached, isCopied }, deps)
}

/** @throws AppError `dimension_mismatch` if the stored vectors have another length */
function checkAttachedSize(
  { dimensions }: KnowledgeBaseDraft,
  attached: { readonly dimensions: number | null } | null,
): void {
  const stored = attached?.dimensions ?? null
  if (stored === null || dimensions === null || stored === dimensions) return
  throw dimensionMismatch(`the model gives ${dimensions}, the storage holds ${stored}`)
}

/** @throws AppError `unknown_provider`, `address_refused` for the contexts' chat model */
async function checkedPreprocessing(
  preprocessing: Preprocessing,
  { chatProviders, checkAddress }: CatalogDeps,
): Promise<Preprocessing> {
  const model = preprocessing.contextual?.model ?? null
  if (model === null) return preprocessing
  const known = chatProviders.filter((provider) => provider !== BUILTIN_PROVIDER)
  if (!known.includes(model.provider)) {
    const what = `Wrong provider in llm_config: ${model.provider}`
    throw new AppError('unknown_provider', `${what}. Available providers: ${known.join(', ')}`)
  }
  await checkAddress(model)
  return preprocessing
}

/** The fields that a chunking preview accepts. */
const PREVIEW_FIELDS = new Set([
  'embedding_model',
  'content_columns',
  'metadata_columns',
  'id_column',
  'preprocessing',
  'language',
])

/**
 * Returns how a knowledge base with these fields would chunk. Missing fields come from the given
 * knowledge base or the defaults.
 * @throws AppError `invalid_knowledge_base`, `unknown_field`
 */
export function chunkingDefinition(sent: Fields, kb: KnowledgeBase | null) {
  const read = new FieldReader(sent, INVALID_KNOWLEDGE_BASE)
  read.allowOnly(PREVIEW_FIELDS, notAllowed)
  const model = read.object('embedding_model')
  const preprocessing = read.object('preprocessing')
  return {
    embeddingModel:
      kb !== null && model === undefined ? kb.embeddingModel : embeddingModelOf(model ?? {}),
    contentColumns: kb?.contentColumns ?? null,
    metadataColumns: kb?.metadataColumns ?? null,
    idColumn: kb?.idColumn ?? null,
    ...columnFields(read),
    preprocessing:
      kb !== null && preprocessing === undefined
        ? kb.preprocessing
        : preprocessingOf(preprocessing, kb?.preprocessing ?? null),
    language: languageParam(read).language ?? kb?.language ?? DEFAULT_LANGUAGE,
  }
}

/**
 * Changes the definition; stored chunks are kept. Null removes a search default. A different
 * embedding model takes over after all chunks are re-embedded, see `embeddingChangeOf`.
 * @throws AppError like `embeddingChangeOf`, and `invalid_knowledge_base`
 */
export async function alterKnowledgeBase(
  known: KnowledgeBase,
  sent: Fields,
  deps: CatalogDeps,
): Promise<KnowledgeBase> {
  const kb = await deps.storages.fresh(known)
  const fields = withNestedParams(sent, INVALID_KNOWLEDGE_BASE, SHOWN_PARAMS)
  const read = new FieldReader(fields, INVALID_KNOWLEDGE_BASE)
  read.allowOnly(ALTER_FIELDS, notAllowed)
  refuseNever(read)
  const sentModel = read.object('embedding_model')
  const size = vectorSize(read)
  if (sentModel === undefined) checkStoredSize(kb, size)
  const embedding = sentModel && (await embeddingChangeOf(kb, sentModel, size, deps))
  const { language = kb.language } = languageParam(read)
  if (kb.remote !== undefined) {
    if (embedding?.changes.reembedding != null) throw staysAsItIs(kb, 'its embedding model')
    if (language !== kb.language) throw staysAsItIs(kb, 'its language')
  }
  const preprocessing = read.object('preprocessing')
  const changes: KnowledgeBaseChanges = {
    ...embedding?.changes,
    ...(fields.reranking_model === undefined || fields.reranking_model === null
      ? {}
      : {
          rerankingModel: await rerankingModelOf(fields.reranking_model, kb.rerankingModel, deps),
        }),
    ...columnFields(read),
    ...(preprocessing && {
      preprocessing: await checkedPreprocessing(
        preprocessingOf(preprocessing, kb.preprocessing),
        deps,
      ),
    }),
    params: {
      ...withoutReset(carriedParams(kb, embedding), sent, fields),
      ...keptParams(fields),
      ...languageParam(read),
      ...searchParams(read),
    },
  }
  const altered = await deps.catalog.alterKnowledgeBase(kb, changes)
  await deps.storages.redefine(altered, changedDefinition(altered, {}))
  if (embedding !== undefined) deps.reembeddings.wake(altered)
  return altered
}

/** By another server, for shared rows. Models and their keys stay local. */
export async function adoptDefinition(
  kb: KnowledgeBase,
  text: string,
  { catalog }: Pick<CatalogDeps, 'catalog'>,
): Promise<void> {
  const shared = fieldsOfExport(readExportDefinition(text), kb.name)
  const fields = withNestedParams(shared, INVALID_KNOWLEDGE_BASE, SHOWN_PARAMS)
  const read = new FieldReader(fields, INVALID_KNOWLEDGE_BASE)
  const isOwn = ([name]: readonly [string, unknown]) => !SHARED_PARAMS.has(name)
  const changes: KnowledgeBaseChanges = {
    // Columns missing in the shared definition are reset to their defaults.
    ...{ contentColumns: null, metadataColumns: null, idColumn: null },
    ...columnFields(read),
    preprocessing: preprocessingOf(read.object('preprocessing'), kb.preprocessing),
    params: {
      ...Object.fromEntries(Object.entries(kb.params).filter(isOwn)),
      ...keptParams(fields),
      ...searchParams(read),
    },
  }
  const fieldsAfter = (to: KnowledgeBaseChanges) =>
    readExportDefinition(changedDefinition(kb, to)).fields
  if (Bun.deepEquals(fieldsAfter({}), fieldsAfter(changes))) return
  await catalog.alterKnowledgeBase(kb, changes)
}

const SHARED_PARAMS: ReadonlySet<string> = new Set([...SEARCH_FIELDS, ...KEPT_PARAMS])

function staysAsItIs({ name, vectorDatabase }: KnowledgeBase, what: string): AppError {
  const how = 'create another knowledge base and INSERT … SELECT from this one'
  const message = `${name} is stored in ${vectorDatabase} and keeps ${what}: ${how}`
  return invalidKnowledgeBase(message)
}

/** Returns the previous params, without those that belong to another model. */
function carriedParams({ params }: KnowledgeBase, embedding: EmbeddingChange | undefined): Fields {
  if (embedding === undefined) return params
  const { warnings: _, ...others } = params
  const { vector_size: __, ...withoutSize } = others
  const remaining = embedding.changes.reembedding == null ? others : withoutSize
  return embedding.warnings.length === 0
    ? remaining
    : { ...remaining, warnings: embedding.warnings }
}

/** Removes search defaults that were sent as null. */
function withoutReset(params: Fields, sent: Fields, fields: Fields): Fields {
  const isReset = (name: string) => (Object.hasOwn(fields, name) ? fields : sent)[name] === null
  const reset = new Set<string>(SEARCH_FIELDS.filter(isReset))
  return Object.fromEntries(Object.entries(params).filter(([name]) => !reset.has(name)))
}

export async function dropKnowledgeBase(kb: KnowledgeBase, deps: CatalogDeps): Promise<void> {
  await deps.storages.drop(kb)
  await deps.catalog.dropKnowledgeBase(kb)
  deps.reembeddings.wake(kb)
}

export function notAllowed(name: string): string {
  return `Problem with knowledge base parameters: Parameter '${name}' is not allowed`
}

/** @throws AppError `invalid_knowledge_base` for a setting that must be false */
function refuseNever(read: FieldReader): void {
  const name = Object.keys(NEVER).find((name) => read.truth(name) === true)
  if (name === undefined) return
  throw invalidKnowledgeBase(`Parameter '${name}' can only be false: ${NEVER[name]}`)
}

/** @throws AppError `dimension_mismatch`, because only a new model can change the vector length */
function checkStoredSize({ dimensions, params }: KnowledgeBase, size: number | undefined): void {
  if (size === undefined || size === (dimensions ?? params.vector_size)) return
  const known = dimensions === null ? 'not known yet' : dimensions
  const how = 'send "vector_size" with an "embedding_model"'
  const sizes = `the length of the vectors is ${known}, "vector_size" says ${size}`
  throw dimensionMismatch(`${sizes}; ${how}`)
}

function keptParams(fields: Fields): Fields {
  const sent = KEPT_PARAMS.filter((name) => fields[name] !== undefined && fields[name] !== null)
  return Object.fromEntries(sent.map((name) => [name, fields[name]]))
}
