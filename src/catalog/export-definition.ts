/** The definition of a knowledge base in a file, and back. */

import { isCount } from '../core/counts.ts'
import { isObject, parsedJson } from '../core/json.ts'
import { parseColumnType, typeText } from '../domain/column-types/column-type.ts'
import {
  EXPORT_FORMAT,
  type ExportDefinition,
  type ExportedColumn,
} from '../domain/flow/exported-knowledge-base.ts'
import { nameKey } from '../domain/identifier.ts'
import { type KnowledgeBase, sentMetadataColumns } from '../domain/knowledge-base.ts'
import { DIMENSIONS_MAX } from '../domain/model-ref.ts'
import { AppError } from '../errors.ts'
import type { Fields } from './fields.ts'
import { maskedModelFields, withoutMasked } from './model-fields.ts'

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

const COLUMNS_MAX = 1000
const NAME_CHARS_MAX = 1000
const TYPE_CHARS_MAX = 10_000

/** @throws AppError `file_unreadable` for a file that no Eider has made, or a later one */
export function readExportDefinition(text: string | undefined): ExportDefinition {
  const value = text === undefined ? undefined : parsedJson(text)
  if (!isObject(value)) {
    throw unreadable('it is no export of a knowledge base: it has no definition of one')
  }
  const { format, fields, embedding_model: model, dimensions, chunks, columns } = value
  if (format !== EXPORT_FORMAT) {
    const found = typeof format === 'number' ? `has the format ${format}` : 'has no format'
    throw unreadable(`it ${found}; this Eider reads the format ${EXPORT_FORMAT}`)
  }
  if (!isObject(fields) || !isObject(model)) throw unreadable('its definition is damaged')
  const { provider, model_name: modelName } = model
  if (typeof provider !== 'string' || typeof modelName !== 'string') {
    throw unreadable('its definition names no embedding model')
  }
  const isLength = isCount(dimensions) && dimensions > 0 && dimensions <= DIMENSIONS_MAX
  if (dimensions !== null && !isLength) throw unreadable('its dimensions are no number')
  if (!isCount(chunks)) throw unreadable('its definition does not say how many chunks it holds')
  return {
    fields,
    embeddingModel: { provider, modelName },
    dimensions,
    chunkCount: chunks,
    columns: columnsOf(columns),
  }
}

function columnsOf(value: unknown): readonly ExportedColumn[] {
  if (!Array.isArray(value) || value.length > COLUMNS_MAX) throw unreadable(NO_COLUMNS)
  const names = new Set<string>()
  return value.map((column: unknown) => {
    if (!isObject(column)) throw unreadable(NO_COLUMNS)
    const { name, type } = column
    if (typeof name !== 'string' || typeof type !== 'string') throw unreadable(NO_COLUMNS)
    const known = type.length > TYPE_CHARS_MAX ? null : parseColumnType(type)
    const isTaken = names.has(nameKey(name))
    if (known === null || isTaken || name === '' || name.length > NAME_CHARS_MAX) {
      const shown = name.slice(0, 100).toWellFormed()
      throw unreadable(
        `its metadata column ${shown} has no type of a column, or stands there twice`,
      )
    }
    names.add(nameKey(name))
    return { name: name.toWellFormed(), type: typeText(known) }
  })
}

const NO_COLUMNS = 'its definition has no list of metadata columns'

function unreadable(why: string): AppError {
  return new AppError('file_unreadable', `The file could not be imported: ${why}`)
}

/** What is sent to create it under a name. */
export function fieldsOfExport({ fields }: ExportDefinition, name: string): Fields {
  return { ...fields, name }
}
