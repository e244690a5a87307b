/** Domain → the records that clients read, with every secret masked. */

import type { Answer } from '../../../agents/questions/completion-stream.ts'
import type { Agent } from '../../../core/domain/agents/agent.ts'
import type { InsertState, Job } from '../../../core/domain/flow/job.ts'
import {
  DEFAULT_CONTENT_COLUMNS,
  type KnowledgeBase,
  type ReembeddingProgress,
  shownParams,
} from '../../../core/domain/knowledge-base.ts'
import type { Project, View } from '../../../core/domain/project.ts'
import type { Backup } from '../../../core/domain/server-state.ts'
import { tablesOfFile, type UploadedFile } from '../../../core/domain/uploaded-file.ts'
import { shownReembedding } from '../../../query/definitions/change-embedding-model.ts'
import { agentDataFields, agentParamFields } from '../../../query/definitions/define-agent.ts'
import { maskedModelFields } from '../../../query/definitions/fields.ts'
import type { Wire } from '../request/schema-words.ts'
import type { AGENT, ANSWER } from './records/agent-schemas.ts'
import type { BACKUP, JOB, PROJECT, VIEW } from './records/catalog-schemas.ts'
import type { KNOWLEDGE_BASE } from './records/knowledge-base-schemas.ts'
import type { FILE } from './records/server-schemas.ts'

export function viewRecord(view: View): Wire<typeof VIEW> {
  return {
    id: view.id,
    name: view.name,
    project: view.projectName,
    query: view.sql,
    columns: view.columns,
    created_at: view.createdAt,
    updated_at: view.updatedAt,
  }
}

export function projectRecord(project: Project): Wire<typeof PROJECT> {
  return {
    id: project.id,
    name: project.name,
    created_at: project.createdAt,
    updated_at: project.updatedAt,
  }
}

/** @param progress of a change of the embedding model; @param found what is to be said of the stored chunks; @param insert the last one */
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

/** Of the last insert, where one is known of. */
function insertFields({ startedAt, finishedAt, processedRows, skippedRows, error }: InsertState) {
  return {
    insert_started_at: startedAt,
    insert_finished_at: finishedAt,
    processed_rows: processedRows,
    insert_skipped_rows: skippedRows,
    insert_error: error,
  }
}

/**
 * What is not set is shown empty, never null: sent back, the empty value means "not set" again.
 * @param sentApiKey the key that this very request carried; only then it is shown (docs/contract.md 2.4)
 */
export function agentRecord(agent: Agent, sentApiKey?: string): Wire<typeof AGENT> {
  const { data, model } = agent
  const isSent = sentApiKey !== undefined && model?.apiKey === sentApiKey
  return {
    id: agent.id,
    name: agent.name,
    project_id: agent.projectId,
    created_at: agent.createdAt,
    updated_at: agent.updatedAt,
    data: data === null ? {} : agentDataFields(data),
    model:
      model === null
        ? {}
        : { ...maskedModelFields(model), ...(isSent ? { api_key: sentApiKey } : {}) },
    prompt_template: agent.promptTemplate ?? '',
    params: agentParamFields(agent.params),
  }
}

export function fileRecord(file: UploadedFile): Wire<typeof FILE> {
  return {
    id: file.id,
    name: file.name,
    original_file_name: file.originalName,
    format: file.format,
    size_bytes: file.sizeBytes,
    content_type: file.contentType,
    source_url: file.sourceUrl,
    row_count: file.rowCount,
    columns: file.columns,
    sheets: file.sheets.map(({ name, columns, rowCount }, index) => {
      const table = tablesOfFile(file)[index]?.name
      return { name, ...(table === undefined ? {} : { table }), row_count: rowCount, columns }
    }),
    recognized: file.recognized,
    warnings: file.warnings,
    created_at: file.createdAt,
  }
}

export function jobRecord(job: Job): Wire<typeof JOB> {
  const { progress } = job
  return {
    id: job.id,
    kind: job.kind,
    state: job.state,
    project: job.projectName,
    knowledge_base: job.knowledgeBase,
    title: job.title,
    created_at: job.createdAt,
    started_at: job.startedAt,
    finished_at: job.finishedAt,
    rows: progress.rows,
    documents: progress.documents,
    chunks: progress.chunks,
    skipped_rows: progress.skipped ?? 0,
    total: progress.total,
    rate: job.rate,
    remaining_seconds: job.remainingSeconds,
    error: job.error,
    errors: job.errors,
    error_count: job.errorCount,
  }
}

export function backupRecord(backup: Backup): Wire<typeof BACKUP> {
  return {
    name: backup.name,
    size_bytes: backup.sizeBytes,
    created_at: backup.createdAt,
    row_count: backup.rowCount,
    has_keys: backup.hasKeys,
  }
}

export function answerRecord(answer: Answer): Wire<typeof ANSWER> {
  const { content, traceId, conversationId, citations, warnings } = answer
  const { evidence, charts, result, context } = answer
  return {
    message: {
      content,
      role: 'assistant',
      trace_id: traceId,
      ...(conversationId === undefined ? {} : { conversation_id: conversationId }),
      citations,
      ...(evidence === undefined ? {} : { evidence }),
      ...(charts === undefined ? {} : { charts }),
      ...(result === undefined ? {} : { result }),
      ...(context === undefined ? {} : { context }),
    },
    warnings,
  }
}
