/** Reads the fields of a knowledge base, except those for the embedding model. */
import { COLUMN_TYPE_NAMES, parseColumnType, typeText } from '../../core/domain/column-type.ts'
import { FUSIONS, fusionNamed } from '../../core/domain/hybrid-search.ts'
import {
  EXPORT_FORMAT,
  type ExportDefinition,
  type ExportedColumn,
  type KnowledgeBase,
  type KnowledgeBaseDraft,
  METADATA_COLUMNS_MAX,
  METADATA_NAME_CHARS_MAX,
  RERANK_CANDIDATES_MAX,
  sentMetadataColumns,
} from '../../core/domain/knowledge-base.ts'
import { LANGUAGES, type Language, languageNamed } from '../../core/domain/language.ts'
import { DIMENSIONS_MAX, type ModelRef, RERANKING_OPTIONS } from '../../core/domain/model-ref.ts'
import { nameKey } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { definedFields, isCount, isObject, parsedJson } from '../../core/json.ts'
import type { CatalogDeps } from './define-database.ts'
import {
  FieldReader,
  type Fields,
  INVALID_KNOWLEDGE_BASE,
  invalidKnowledgeBase,
  maskedModelFields,
  mergedFields,
  modelRefOf,
  refuseOptions,
  withoutMasked,
} from './fields.ts'

export const SEARCH_FIELDS = [
  'hybrid_search',
  'hybrid_search_alpha',
  'hybrid_search_fusion',
  'hybrid_search_feedback',
] as const

/** As `params` stores them. @throws AppError `invalid_knowledge_base` */
export function searchParams(read: FieldReader): Fields {
  const isHybrid = read.truth('hybrid_search')
  const alpha = read.number('hybrid_search_alpha', { min: 0, max: 1 })
  const name = read.text('hybrid_search_fusion')
  const fusion = name === undefined ? undefined : fusionNamed(name)
  if (name !== undefined && fusion === undefined) {
    const known = FUSIONS.join(', ')
    throw invalidKnowledgeBase(`Unknown hybrid_search_fusion "${name}". Available: ${known}`)
  }
  return definedFields({
    hybrid_search: isHybrid,
    hybrid_search_alpha: alpha,
    hybrid_search_fusion: fusion,
    hybrid_search_feedback: read.truth('hybrid_search_feedback'),
  })
}

/** Reads `language`, which selects the stemming rules of keyword search. Absent unless sent. */
export function languageParam(read: FieldReader): { readonly language?: Language } {
  const name = read.text('language')
  if (name === undefined) return {}
  const language = languageNamed(name)
  if (language !== undefined) return { language }
  const known = LANGUAGES.join(', ')
  throw invalidKnowledgeBase(`Unknown language "${name}". Available languages: ${known}`)
}

/** `false` and `{}` mean none. Creates the reranker to check settings, without calling it. */
export async function rerankingModelOf(
  sent: unknown,
  stored: ModelRef | null,
  { rerankers, checkAddress }: Pick<CatalogDeps, 'rerankers' | 'checkAddress'>,
): Promise<ModelRef | null> {
  if (sent === undefined || sent === null || sent === false) return null
  if (!isObject(sent)) {
    throw invalidKnowledgeBase('Field "reranking_model" must be an object or false')
  }
  if (Object.keys(sent).length === 0) return null
  refuseOptions(sent, RERANKING_OPTIONS, INVALID_KNOWLEDGE_BASE)
  const isChange = stored !== null && sent.model_name === undefined
  const fields = isChange ? mergedFields(stored, sent) : sent
  const merged = modelRefOf(
    fields,
    { provider: stored?.provider ?? 'openai', code: INVALID_KNOWLEDGE_BASE },
    stored,
  )
  const isSameProvider = !isChange || merged.provider === stored.provider
  // Do not keep the stored model name for another provider.
  const ref = isSameProvider ? merged : { ...merged, modelName: '' }
  checkCandidates(ref)
  rerankers.reranker(ref)
  await checkAddress(ref)
  return ref
}

function checkCandidates({ options: { candidates } }: ModelRef): void {
  const isWhole = typeof candidates === 'number' && Number.isInteger(candidates)
  const max = RERANK_CANDIDATES_MAX
  if (candidates === undefined || (isWhole && candidates >= 1 && candidates <= max)) return
  const expected = `a whole number from 1 to ${max}`
  throw invalidKnowledgeBase(`reranking_model.candidates must be ${expected}`)
}

export function vectorSize(read: FieldReader): number | undefined {
  return read.integer('vector_size', { min: 1, max: 65_536 })
}

export function columnFields(
  read: FieldReader,
): Partial<
  Pick<KnowledgeBaseDraft, 'contentColumns' | 'metadataColumns' | 'idColumn' | 'declaredColumns'>
> {
  const metadata = read.list('metadata_columns')?.map(metadataColumn)
  const names = metadata?.map(({ name }) => name)
  if (names !== undefined) checkNames(names, 'metadata_columns')
  return definedFields({
    contentColumns: contentColumns(read),
    metadataColumns: names,
    declaredColumns: metadata?.flatMap(({ name, type }) => (type === null ? [] : { name, type })),
    idColumn: idColumn(read),
  })
}

/** Reads `"day"` or `{"name": "day", "type": "DATE"}`. */
function metadataColumn(sent: unknown): { readonly name: string; readonly type: string | null } {
  if (typeof sent === 'string') return { name: sent, type: null }
  const fields = isObject(sent) ? sent : {}
  const read = new FieldReader(fields, INVALID_KNOWLEDGE_BASE)
  read.allowOnly(new Set(['name', 'type']), (name) => {
    return `Unknown field "${name}" in "metadata_columns"; there are name and type`
  })
  const name = read.text('name')
  if (name === undefined) {
    const message = '"metadata_columns" holds names, or objects as {"name": "day", "type": "DATE"}'
    throw invalidKnowledgeBase(message)
  }
  const type = read.text('type')
  if (type === undefined) return { name, type: null }
  const parsed = parseColumnType(type)
  if (parsed === null) throw invalidKnowledgeBase(unknownType(name, type))
  return { name, type: typeText(parsed) }
}

function unknownType(name: string, type: string): string {
  const known = `${COLUMN_TYPE_NAMES.join(', ')}, DECIMAL(p,s), and of these T[], STRUCT(a T, …), MAP(K, V)`
  const shown = type.length > 100 ? `${type.slice(0, 100).toWellFormed()}…` : type
  return `Column "${name}" cannot have the type ${shown}. There are: ${known}`
}

function contentColumns(read: FieldReader): readonly string[] | undefined {
  const columns = columnList(read, 'content_columns')
  if (columns?.length === 0) throw invalidKnowledgeBase('"content_columns" must name a column')
  return columns
}

/** Refuses names that differ only in case, because names are compared ignoring case. */
function columnList(read: FieldReader, field: string): readonly string[] | undefined {
  const columns = read.textList(field)
  checkNames(columns ?? [], field)
  return columns
}

function checkNames(columns: readonly string[], field: string): void {
  const seen = new Set<string>()
  for (const column of columns) {
    if (column.trim() === '') throw invalidKnowledgeBase(`"${field}" holds an empty name`)
    if (column.length > METADATA_NAME_CHARS_MAX) {
      const message = `A name in "${field}" has at most ${METADATA_NAME_CHARS_MAX} characters`
      throw invalidKnowledgeBase(message)
    }
    if (seen.has(column.toLowerCase())) {
      throw invalidKnowledgeBase(`"${field}" names the column "${column}" twice`)
    }
    seen.add(column.toLowerCase())
  }
}

function idColumn(read: FieldReader): string | undefined {
  const column = read.text('id_column')
  if (column?.trim() === '') throw invalidKnowledgeBase('"id_column" must not be empty')
  return column
}

/** Converts a knowledge base's definition to the JSON in an export file, and back. */

/** Returns the definition as JSON, without secrets. */
export function exportDefinition(
  kb: Omit<KnowledgeBaseDraft, 'projectId' | 'vectorDatabase' | 'vectorDatabaseTable'> &
    Pick<KnowledgeBase, 'isLanguageKnown' | 'language' | 'storedMetadata'>,
  chunkCount: number,
): string {
  const { warnings: _, created_embedding_model: __, ...params } = kb.params
  const { sent } = kb.preprocessing
  return JSON.stringify({
    format: EXPORT_FORMAT,
    name: kb.name,
    fields: withoutMasked({
      embedding_model: maskedModelFields(kb.embeddingModel),
      reranking_model: kb.rerankingModel && maskedModelFields(kb.rerankingModel),
      content_columns: kb.contentColumns,
      metadata_columns: sentMetadataColumns(kb),
      id_column: kb.idColumn,
      ...(sent === null ? {} : { preprocessing: sent }),
      params: { ...params, ...(kb.isLanguageKnown ? { language: kb.language } : {}) },
    }),
    embedding_model: {
      provider: kb.embeddingModel.provider,
      model_name: kb.embeddingModel.modelName,
    },
    dimensions: kb.dimensions,
    chunks: chunkCount,
    columns: kb.storedMetadata.map(({ name, type }) => ({ name, type })),
  })
}

const TYPE_CHARS_MAX = 10_000

/**
 * @throws AppError `file_unreadable` if the file is not an Eider export, or from a later version
 */
export function readExportDefinition(text: string | undefined): ExportDefinition {
  const value = text === undefined ? undefined : parsedJson(text)
  if (!isObject(value)) {
    throw unreadableExport('it is not an export of a knowledge base: it contains no definition')
  }
  const { format, fields, embedding_model: model, dimensions, chunks, columns } = value
  if (format !== EXPORT_FORMAT) {
    const found = typeof format === 'number' ? `has the format ${format}` : 'has no format'
    throw unreadableExport(`it ${found}; this Eider reads the format ${EXPORT_FORMAT}`)
  }
  if (!isObject(fields) || !isObject(model)) throw unreadableExport('its definition is damaged')
  const { provider, model_name: modelName } = model
  if (typeof provider !== 'string' || typeof modelName !== 'string') {
    throw unreadableExport('its definition names no embedding model')
  }
  const isLength = isCount(dimensions) && dimensions > 0 && dimensions <= DIMENSIONS_MAX
  if (dimensions !== null && !isLength) throw unreadableExport('its dimensions are not a number')
  if (!isCount(chunks))
    throw unreadableExport('its definition does not say how many chunks it holds')
  return {
    fields,
    embeddingModel: { provider, modelName },
    dimensions,
    chunkCount: chunks,
    columns: exportedColumns(columns),
  }
}

function exportedColumns(value: unknown): readonly ExportedColumn[] {
  if (!Array.isArray(value) || value.length > METADATA_COLUMNS_MAX)
    throw unreadableExport(NO_COLUMNS)
  const names = new Set<string>()
  return value.map((column: unknown) => {
    if (!isObject(column)) throw unreadableExport(NO_COLUMNS)
    const { name, type } = column
    if (typeof name !== 'string' || typeof type !== 'string') throw unreadableExport(NO_COLUMNS)
    const known = type.length > TYPE_CHARS_MAX ? null : parseColumnType(type)
    const isTaken = names.has(nameKey(name))
    if (known === null || isTaken || name === '' || name.length > METADATA_NAME_CHARS_MAX) {
      const shown = name.slice(0, 100).toWellFormed()
      throw unreadableExport(
        `its metadata column ${shown} has no type of a column, or is listed twice`,
      )
    }
    names.add(nameKey(name))
    return { name: name.toWellFormed(), type: typeText(known) }
  })
}

const NO_COLUMNS = 'its definition has no list of metadata columns'

function unreadableExport(why: string): AppError {
  return new AppError('file_unreadable', `The file could not be imported: ${why}`)
}

/** Returns the fields to create the knowledge base again under this name. */
export function fieldsOfExport({ fields }: ExportDefinition, name: string): Fields {
  return { ...fields, name }
}
