import { findKnowledgeBase, requireProject } from '../domain/catalog-snapshot.ts'
import { checkedName } from '../domain/identifier.ts'
import type {
  KnowledgeBase,
  KnowledgeBaseChanges,
  KnowledgeBaseDraft,
} from '../domain/knowledge-base.ts'
import { LIMITS } from '../domain/limits.ts'
import { BUILTIN_EMBEDDING_MODEL, BUILTIN_PROVIDER, type ModelRef } from '../domain/model-ref.ts'
import { AppError } from '../errors.ts'
import type { CatalogDeps } from './catalog-deps.ts'
import { FieldReader, type Fields, isObject } from './fields.ts'
import { HYBRID_FIELDS, hybridParams } from './hybrid-fields.ts'
import { checkLanguageStays, languageParam } from './language-field.ts'
import { MASK, maskedOptions, modelRefOf } from './model-fields.ts'
import { preprocessingOf } from './preprocessing-fields.ts'

const CODE = 'invalid_knowledge_base'

const DEFINING_FIELDS = [
  'embedding_model',
  'reranking_model',
  'content_columns',
  'metadata_columns',
  'id_column',
  'preprocessing',
  'language',
  ...HYBRID_FIELDS,
] as const

/** Settings of the reference that change nothing here: kept in `params` and given back. */
const KEPT_PARAMS = [
  'version',
  'default_vector_storage',
  'created_embedding_model',
  'is_sparse',
  'vector_size',
  'kb_no_upsert',
  'kb_skip_existing',
] as const

const CREATE_FIELDS = new Set<string>(['name', 'storage', ...DEFINING_FIELDS, ...KEPT_PARAMS])
const ALTER_FIELDS = new Set<string>([...DEFINING_FIELDS, ...KEPT_PARAMS])

/**
 * Creates a knowledge base from the contract's fields; what is missing gets the defaults of decisions.md 5. The
 * embedding model is tried once: an unreachable one is a warning in `params`, a definite refusal creates nothing.
 * @throws AppError `project_not_found`, `knowledge_base_exists`, `missing_parameter`, `invalid_name`,
 * `invalid_knowledge_base`, `unknown_provider`, `provider_refused`, `dimension_mismatch`
 */
export async function createKnowledgeBase(
  projectName: string,
  sent: Fields,
  deps: CatalogDeps,
): Promise<KnowledgeBase> {
  const project = requireProject(deps.catalog.snapshot(), projectName)
  const fields = withParams(sent)
  const read = new FieldReader(fields, CODE)
  const name = read.text('name')
  if (name === undefined) {
    throw new AppError('missing_parameter', 'Must provide "name" field in "knowledge_base"')
  }
  checkedName('knowledge base', name)
  read.allowOnly(CREATE_FIELDS, notAllowed)
  if (findKnowledgeBase(deps.catalog.snapshot(), project, name) !== undefined) {
    const detail = `Knowledge Base with name ${name} already exists`
    throw new AppError('knowledge_base_exists', detail)
  }
  const embeddingModel = embeddingModelOf(read.object('embedding_model'))
  const probe = await deps.embedders.probe(embeddingModel, LIMITS.embedProbeMs)
  const warnings = probe.kind === 'unreachable' ? [probe.warning] : []
  const draft: KnowledgeBaseDraft = {
    name,
    projectId: project.id,
    ...storageOf(fields.storage, name),
    embeddingModel,
    rerankingModel: rerankingModelOf(fields.reranking_model, null, deps),
    ...columnsOf(read),
    preprocessing: preprocessingOf(read.object('preprocessing')),
    params: {
      ...keptParams(fields),
      ...languageParam(read),
      ...hybridParams(read),
      created_embedding_model: `kb_embedding_${name}`,
      ...(warnings.length > 0 ? { warnings } : {}),
    },
    dimensions: checkedDimensions(
      probe.kind === 'ready' ? probe.dimensions : null,
      read.integer('vector_size', { min: 1, max: 65_536 }),
    ),
  }
  return deps.catalog.createKnowledgeBase(draft)
}

/**
 * Changes the definition; chunks that are stored already stay as they were cut and embedded.
 * @throws AppError `invalid_knowledge_base` when the embedding model of a filled knowledge base would change
 */
export async function alterKnowledgeBase(
  kb: KnowledgeBase,
  sent: Fields,
  deps: CatalogDeps,
): Promise<KnowledgeBase> {
  const fields = withParams(sent)
  const read = new FieldReader(fields, CODE)
  read.allowOnly(ALTER_FIELDS, notAllowed)
  checkLanguageStays(kb, read)
  const model = read.object('embedding_model')
  const embeddingModel = model && (await changedEmbeddingModel(kb, model, deps))
  const preprocessing = read.object('preprocessing')
  const changes: KnowledgeBaseChanges = {
    ...(embeddingModel === undefined ? {} : { embeddingModel }),
    ...(fields.reranking_model === undefined || fields.reranking_model === null
      ? {}
      : { rerankingModel: rerankingModelOf(fields.reranking_model, kb.rerankingModel, deps) }),
    ...changedColumns(read),
    ...(preprocessing === undefined ? {} : { preprocessing: preprocessingOf(preprocessing) }),
    params: { ...kb.params, ...keptParams(fields), ...hybridParams(read) },
  }
  return deps.catalog.alterKnowledgeBase(kb, changes)
}

export async function dropKnowledgeBase(kb: KnowledgeBase, deps: CatalogDeps): Promise<void> {
  await deps.catalog.dropKnowledgeBase(kb)
}

/** True where a request's fields change the definition, not only insert. */
export function isAlteration(sent: Fields): boolean {
  const fields = withParams(sent)
  return [...ALTER_FIELDS].some((name) => fields[name] !== undefined && fields[name] !== null)
}

/** Existing clients nest the definition under `params`; both forms are read, the outer one wins. */
function withParams(sent: Fields): Fields {
  const { params, ...outer } = sent
  if (params === undefined || params === null) return outer
  if (!isObject(params)) throw new AppError(CODE, 'Field "params" must be an object')
  const given = Object.entries(outer).filter(([, value]) => value !== null && value !== undefined)
  return { ...params, ...Object.fromEntries(given) }
}

function notAllowed(name: string): string {
  return `Problem with knowledge base parameters: Parameter '${name}' is not allowed`
}

function keptParams(fields: Fields): Fields {
  const kept = KEPT_PARAMS.filter((name) => fields[name] !== undefined && fields[name] !== null)
  return Object.fromEntries(kept.map((name) => [name, fields[name]]))
}

function storageOf(
  storage: unknown,
  name: string,
): Pick<KnowledgeBaseDraft, 'vectorDatabase' | 'vectorDatabaseTable'> {
  if (storage === undefined || storage === null) {
    return { vectorDatabase: 'duckdb', vectorDatabaseTable: name }
  }
  const fields = typeof storage === 'string' ? storageOfName(storage) : storage
  const read = new FieldReader(isObject(fields) ? fields : {}, CODE)
  const database = read.text('database')
  const table = read.text('table')
  if (!database || !table) {
    const detail = 'Must provide "database" and "table" field in "storage" param'
    throw new AppError('missing_parameter', detail)
  }
  return {
    vectorDatabase: checkedName('storage database', database),
    vectorDatabaseTable: checkedName('storage table', table),
  }
}

function storageOfName(name: string): Fields {
  const [database, table, ...rest] = name.split('.')
  return rest.length > 0 ? {} : { database, table }
}

function embeddingModelOf(fields: Fields | undefined): ModelRef {
  const defaults = { provider: BUILTIN_PROVIDER, code: CODE } as const
  const ref = modelRefOf(fields ?? {}, defaults)
  if (ref.provider !== BUILTIN_PROVIDER || ref.modelName !== '') return ref
  return { ...ref, modelName: BUILTIN_EMBEDDING_MODEL }
}

/** `false` and `{}` mean: no reranking. The reranker is made, which checks its settings, and not called. */
function rerankingModelOf(
  sent: unknown,
  stored: ModelRef | null,
  { rerankers }: CatalogDeps,
): ModelRef | null {
  if (sent === undefined || sent === null || sent === false) return null
  if (!isObject(sent)) {
    throw new AppError(CODE, 'Field "reranking_model" must be an object or false')
  }
  if (Object.keys(sent).length === 0) return null
  const isChange = stored !== null && sent.model_name === undefined
  const fields = isChange ? mergedFields(stored, sent) : sent
  const merged = modelRefOf(fields, { provider: stored?.provider ?? 'openai', code: CODE }, stored)
  const isSameProvider = !isChange || merged.provider === stored.provider
  // The stored name is of a model of another provider.
  const ref = isSameProvider ? merged : { ...merged, modelName: '' }
  checkedCandidates(ref)
  rerankers.reranker(ref)
  return ref
}

function checkedCandidates({ options: { candidates } }: ModelRef): void {
  const isWhole = typeof candidates === 'number' && Number.isInteger(candidates)
  const { rerankCandidatesMax: max } = LIMITS
  if (candidates === undefined || (isWhole && candidates >= 1 && candidates <= max)) return
  const expected = `a whole number from 1 to ${max}`
  throw new AppError(CODE, `reranking_model.candidates must be ${expected}`)
}

/** What is stored, its secrets masked, with what was sent on top. */
function mergedFields(stored: ModelRef, sent: Fields): Fields {
  return {
    provider: stored.provider,
    model_name: stored.modelName,
    ...(stored.apiKey === undefined ? {} : { api_key: MASK }),
    ...(stored.baseUrl === undefined ? {} : { base_url: stored.baseUrl }),
    ...maskedOptions(stored),
    ...sent,
  }
}

async function changedEmbeddingModel(
  kb: KnowledgeBase,
  sent: Fields,
  deps: CatalogDeps,
): Promise<ModelRef> {
  const stored = kb.embeddingModel
  const ref = modelRefOf(
    mergedFields(stored, sent),
    { provider: stored.provider, code: CODE },
    stored,
  )
  const isSameModel = ref.provider === stored.provider && ref.modelName === stored.modelName
  if (!isSameModel && kb.dimensions !== null) {
    const setting = ref.provider === stored.provider ? 'model_name' : 'provider'
    const why = 'its vectors come from another model; create a new knowledge base'
    throw new AppError(CODE, `You can't update '${setting}' setting of ${kb.name}: ${why}`)
  }
  await deps.embedders.probe(ref, LIMITS.embedProbeMs)
  return ref
}

function columnsOf(
  read: FieldReader,
): Pick<KnowledgeBaseDraft, 'contentColumns' | 'metadataColumns' | 'idColumn'> {
  return {
    contentColumns: contentColumns(read) ?? null,
    metadataColumns: columnList(read, 'metadata_columns') ?? null,
    idColumn: idColumn(read) ?? null,
  }
}

function changedColumns(read: FieldReader): KnowledgeBaseChanges {
  const content = contentColumns(read)
  const metadata = columnList(read, 'metadata_columns')
  const id = idColumn(read)
  return {
    ...(content === undefined ? {} : { contentColumns: content }),
    ...(metadata === undefined ? {} : { metadataColumns: metadata }),
    ...(id === undefined ? {} : { idColumn: id }),
  }
}

function contentColumns(read: FieldReader): readonly string[] | undefined {
  const columns = columnList(read, 'content_columns')
  if (columns?.length === 0) throw new AppError(CODE, '"content_columns" must name a column')
  return columns
}

/** Names are compared without case, so that one that comes twice could not be told apart. */
function columnList(read: FieldReader, field: string): readonly string[] | undefined {
  const columns = read.textList(field)
  const seen = new Set<string>()
  for (const column of columns ?? []) {
    if (column.trim() === '') throw new AppError(CODE, `"${field}" holds an empty name`)
    if (seen.has(column.toLowerCase())) {
      throw new AppError(CODE, `"${field}" names the column "${column}" twice`)
    }
    seen.add(column.toLowerCase())
  }
  return columns
}

function idColumn(read: FieldReader): string | undefined {
  const column = read.text('id_column')
  if (column?.trim() === '') throw new AppError(CODE, '"id_column" must not be empty')
  return column
}

function checkedDimensions(learned: number | null, asked: number | undefined): number | null {
  if (learned === null || asked === undefined || learned === asked) return learned
  const sizes = `the model gives ${learned}, "vector_size" says ${asked}`
  throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
}
