/** Converts domain objects to the records that clients receive, with all secrets masked. */

import type { Answer } from '../../../agents/questions/completion-stream.ts'
import type { Agent } from '../../../core/domain/agents/agent.ts'
import type { InsertState, Job } from '../../../core/domain/flow/job.ts'
import {
  DEFAULT_CONTENT_COLUMNS,
  type KnowledgeBase,
  type ReembeddingProgress,
  shownParams,
} from '../../../core/domain/knowledge-base.ts'
import type { Project, View } from '../../../core/domain/names.ts'
import type { Backup } from '../../../core/domain/server-state.ts'
import { tablesOfFile, type UploadedFile } from '../../../core/domain/uploaded-file.ts'
import { definedFields } from '../../../core/json.ts'
import { shownReembedding } from '../../../query/definitions/change-embedding-model.ts'
import { agentDataFields, agentParamFields } from '../../../query/definitions/define-agent.ts'
import { maskedModelFields } from '../../../query/definitions/fields.ts'
import type { Wire } from '../request/schema-words.ts'
import { recordOf } from './record-of.ts'
import type { AGENT, ANSWER } from './records/agent-schemas.ts'
import { BACKUP, JOB, PROJECT, VIEW } from './records/catalog-schemas.ts'
import type { KNOWLEDGE_BASE } from './records/knowledge-base-schemas.ts'
import { FILE } from './records/server-schemas.ts'

export const projectRecord = recordOf<Project>()(PROJECT)

export const viewRecord = recordOf<View>()(VIEW, {
  project: (view) => view.projectName,
  query: (view) => view.sql,
})

export const jobRecord = recordOf<Job>()(JOB, {
  project: (job) => job.projectName,
  rows: ({ progress }) => progress.rows,
  documents: ({ progress }) => progress.documents,
  chunks: ({ progress }) => progress.chunks,
  skipped_rows: ({ progress }) => progress.skipped ?? 0,
  total: ({ progress }) => progress.total,
})

export const backupRecord = recordOf<Backup>()(BACKUP)

export const fileRecord = recordOf<UploadedFile>()(FILE, {
  original_file_name: (file) => file.originalName,
  sheets: (file) =>
    file.sheets.map(({ name, columns, rowCount }, index) => {
      const table = tablesOfFile(file)[index]?.name
      return { name, ...(table === undefined ? {} : { table }), row_count: rowCount, columns }
    }),
  recognized: (file) => file.recognized,
})

/** @param progress of a model change @param found warnings @param insert running or last */
export function knowledgeBaseRecord(
  kb: KnowledgeBase,
  progress: ReembeddingProgress | null,
  found: readonly string[] = [],
  insert: InsertState | null = null,
): Wire<typeof KNOWLEDGE_BASE> {
  const { sent } = kb.preprocessing
  const shown = shownParams(kb)
  const { warnings: known } = shown
  const warnings = [...(Array.isArray(known) ? known : []), ...found]
  return {
    id: kb.id,
    name: kb.name,
    project_id: kb.projectId,
    project_name: kb.projectName,
    vector_database: kb.vectorDatabase,
    vector_database_table: kb.vectorDatabaseTable,
    updated_at: kb.updatedAt,
    created_at: kb.createdAt,
    query_id: insert?.jobId ?? null,
    ...(insert === null ? {} : insertFields(insert)),
    embedding_model: maskedModelFields(kb.embeddingModel),
    reranking_model: kb.rerankingModel && maskedModelFields(kb.rerankingModel),
    metadata_columns: kb.metadataColumns ?? kb.storedMetadata.map((column) => column.name),
    metadata_types: Object.fromEntries(kb.storedMetadata.map(({ name, type }) => [name, type])),
    content_columns: kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS,
    id_column: kb.idColumn ?? 'id',
    params: {
      ...(sent === null ? {} : { preprocessing: sent }),
      ...shown,
      ...(warnings.length === 0 ? {} : { warnings }),
      ...shownReembedding(kb, progress),
    },
  }
}

function insertFields(insert: InsertState) {
  return {
    insert_started_at: insert.startedAt,
    insert_finished_at: insert.finishedAt,
    processed_rows: insert.processedRows,
    insert_skipped_rows: insert.skippedRows,
    insert_embedded_chunks: insert.embeddedChunks,
    insert_error: insert.error,
  }
}

/** Unset values are empty strings. @param sentApiKey of this request; never another's (2.4) */
export function agentRecord(agent: Agent, sentApiKey?: string): Wire<typeof AGENT> {
  const { data, model } = agent
  const isSent = sentApiKey !== undefined && model?.apiKey === sentApiKey
  const own = isSent ? { api_key: sentApiKey } : {}
  return {
    id: agent.id,
    name: agent.name,
    project_id: agent.projectId,
    created_at: agent.createdAt,
    updated_at: agent.updatedAt,
    data: data === null ? {} : agentDataFields(data),
    model: model === null ? {} : { ...maskedModelFields(model), ...own },
    prompt_template: agent.promptTemplate ?? '',
    params: agentParamFields(agent.params),
  }
}

export function answerRecord(answer: Answer): Wire<typeof ANSWER> {
  const { content, traceId, conversationId, citations, warnings } = answer
  const { evidence, low_evidence, statements, charts, result, context } = answer
  return {
    message: {
      content,
      role: 'assistant',
      trace_id: traceId,
      ...(conversationId === undefined ? {} : { conversation_id: conversationId }),
      citations,
      evidence,
      ...definedFields({ low_evidence, statements, charts, result, context }),
    },
    warnings,
  }
}

export function base64Of({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}
