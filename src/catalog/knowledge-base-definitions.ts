import { findKnowledgeBase, requireProject } from '../domain/catalog-snapshot.ts'
import { checkedName } from '../domain/identifier.ts'
import type {
  KnowledgeBase,
  KnowledgeBaseChanges,
  KnowledgeBaseDraft,
} from '../domain/knowledge-base.ts'
import { LIMITS } from '../domain/limits.ts'
import type { ModelRef } from '../domain/model-ref.ts'
import { AppError } from '../errors.ts'
import type { CatalogDeps } from './catalog-deps.ts'
import {
  checkedDimensions,
  type EmbeddingChange,
  embeddingChangeOf,
  embeddingModelOf,
  mergedFields,
} from './embedding-change.ts'
import { FieldReader, type Fields, isObject } from './fields.ts'
import { HYBRID_FIELDS, hybridParams } from './hybrid-fields.ts'
import { checkLanguageStays, languageParam } from './language-field.ts'
import { modelRefOf } from './model-fields.ts'
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

/** What only answers say: a client that saves what it read sends it back. */
const SHOWN_PARAMS: ReadonlySet<string> = new Set(['warnings', 'reembedding'])

const CREATE_FIELDS = new Set<string>(['name', 'storage', ...DEFINING_FIELDS, ...KEPT_PARAMS])
const ALTER_FIELDS = new Set<string>([...DEFINING_FIELDS, ...KEPT_PARAMS])

/**
 * Creates a knowledge base from the contract's fields; what is missing gets the defaults of docs/contract.md 5. The
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
  const embeddingModel = embeddingModelOf(read.object('embedding_model') ?? {})
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
    dimensions: checkedDimensions(probe, embeddingModel, vectorSize(read)),
  }
  return deps.catalog.createKnowledgeBase(draft)
}

/**
 * Changes the definition; chunks that are stored already stay as they were cut. Another embedding model takes over when
 * they are embedded anew, see `embeddingChangeOf`.
 * @throws AppError those of `embeddingChangeOf`, `invalid_knowledge_base`
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
  const sentModel = read.object('embedding_model')
  const asked = sentModel && { fields: sentModel, vectorSize: vectorSize(read) }
  const embedding = asked && (await embeddingChangeOf(kb, asked, deps))
  const preprocessing = read.object('preprocessing')
  const changes: KnowledgeBaseChanges = {
    ...embedding?.changes,
    ...(fields.reranking_model === undefined || fields.reranking_model === null
      ? {}
      : { rerankingModel: rerankingModelOf(fields.reranking_model, kb.rerankingModel, deps) }),
    ...changedColumns(read),
    ...(preprocessing === undefined ? {} : { preprocessing: preprocessingOf(preprocessing) }),
    params: { ...paramsBefore(kb, embedding), ...keptParams(fields), ...hybridParams(read) },
  }
  const altered = await deps.catalog.alterKnowledgeBase(kb, changes)
  if (embedding !== undefined) deps.reembeddings.wake(altered)
  return altered
}

/** What was noted about the model of before does not hold for another one. */
function paramsBefore({ params }: KnowledgeBase, embedding: EmbeddingChange | undefined): Fields {
  if (embedding === undefined) return params
  const { warnings: _, ...others } = params
  const { vector_size: __, ...withoutSize } = others
  const kept = embedding.changes.nextEmbedding == null ? others : withoutSize
  return embedding.warnings.length === 0 ? kept : { ...kept, warnings: embedding.warnings }
}

export async function dropKnowledgeBase(kb: KnowledgeBase, deps: CatalogDeps): Promise<void> {
  await deps.catalog.dropKnowledgeBase(kb)
  deps.reembeddings.wake(kb)
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
  const own = Object.entries(params).filter(([field]) => !SHOWN_PARAMS.has(field))
  return { ...Object.fromEntries(own), ...Object.fromEntries(given) }
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

function vectorSize(read: FieldReader): number | undefined {
  return read.integer('vector_size', { min: 1, max: 65_536 })
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
