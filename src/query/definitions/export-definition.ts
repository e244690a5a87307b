/** The definition of a knowledge base in a file, and back. */

import { parseColumnType, typeText } from '../../core/domain/column-type.ts'
import { nameKey } from '../../core/domain/identifier.ts'
import {
  EXPORT_FORMAT,
  type ExportDefinition,
  type ExportedColumn,
  type KnowledgeBase,
  sentMetadataColumns,
} from '../../core/domain/knowledge-base.ts'
import { DIMENSIONS_MAX } from '../../core/domain/model-ref.ts'
import { AppError } from '../../core/errors.ts'
import { isCount, isObject, parsedJson } from '../../core/json.ts'
import type { Fields } from './fields.ts'
import { maskedModelFields, withoutMasked } from './fields.ts'

/** As JSON. No secret is in it. */
export function exportDefinition(kb: KnowledgeBase, chunkCount: number): string {
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

const EXPORTED_COLUMNS_MAX = 1000
const EXPORTED_NAME_CHARS_MAX = 1000
const TYPE_CHARS_MAX = 10_000

/** @throws AppError `file_unreadable` for a file that no Eider has made, or a later one */
export function readExportDefinition(text: string | undefined): ExportDefinition {
  const value = text === undefined ? undefined : parsedJson(text)
  if (!isObject(value)) {
    throw unreadableExport('it is no export of a knowledge base: it has no definition of one')
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
  if (dimensions !== null && !isLength) throw unreadableExport('its dimensions are no number')
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
  if (!Array.isArray(value) || value.length > EXPORTED_COLUMNS_MAX)
    throw unreadableExport(NO_COLUMNS)
  const names = new Set<string>()
  return value.map((column: unknown) => {
    if (!isObject(column)) throw unreadableExport(NO_COLUMNS)
    const { name, type } = column
    if (typeof name !== 'string' || typeof type !== 'string') throw unreadableExport(NO_COLUMNS)
    const known = type.length > TYPE_CHARS_MAX ? null : parseColumnType(type)
    const isTaken = names.has(nameKey(name))
    if (known === null || isTaken || name === '' || name.length > EXPORTED_NAME_CHARS_MAX) {
      const shown = name.slice(0, 100).toWellFormed()
      throw unreadableExport(
        `its metadata column ${shown} has no type of a column, or stands there twice`,
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

/** What is sent to create it under a name. */
export function fieldsOfExport({ fields }: ExportDefinition, name: string): Fields {
  return { ...fields, name }
}
