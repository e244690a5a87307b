/** The catalog's tables for drizzle. Migrations create them; a test checks that both agree. */
import {
  bigint,
  boolean,
  customType,
  doublePrecision,
  integer,
  pgSchema,
  text,
  timestamp,
  unique,
} from 'drizzle-orm/pg-core'
import type { AgentData, AgentParams } from '../../core/domain/agents/agent.ts'
import type {
  Citation,
  EvidenceLevel,
  FinishReason,
  RunOutcome,
  RunPurpose,
} from '../../core/domain/agents/completion-event.ts'
import type { JobError, JobKind, JobState } from '../../core/domain/flow/job.ts'
import type { DataSourceEngine } from '../../core/domain/flow/source-parameters.ts'
import type {
  LastMark,
  RunTrigger,
  ScheduleRun,
  SourceKind,
  SyncCounts,
  SyncOutcome,
  SyncRun,
} from '../../core/domain/flow/sync-source.ts'
import type { VectorIndexDefinition } from '../../core/domain/index-definition.ts'
import type { MetadataColumn } from '../../core/domain/knowledge-base.ts'
import type { RelationColumn } from '../../core/domain/names.ts'
import type { FileFormat, FileSheet, Recognized } from '../../core/domain/uploaded-file.ts'

export const eider = pgSchema('eider')

/** Trusted, because only this program writes it. */
export const json = <T>(name: string) =>
  customType<{ data: T; driverData: string }>({
    dataType: () => 'JSON',
    toDriver: (value) => JSON.stringify(value),
    // Only `toDriver` writes this JSON, so it has the column's type.
    fromDriver: (value) => JSON.parse(value) as T,
  })(name)

/** A timestamp in UTC with microseconds, as `YYYY-MM-DD HH:MM:SS.ffffff`. */
export const moment = (name: string) => timestamp(name, { precision: 6, mode: 'string' }).notNull()

export const count = (name: string) => bigint(name, { mode: 'number' }).notNull()

export const counters = eider.table('counters', {
  name: text('name').primaryKey(),
  nextValue: count('next_value'),
})

export const keyCheck = eider.table('key_check', {
  id: integer('id').primaryKey(),
  sealed: text('sealed').notNull(),
})

export const projects = eider.table('projects', {
  id: integer('id').primaryKey(),
  name: text('name').notNull(),
  nameKey: text('name_key').notNull().unique(),
  createdAt: moment('created_at'),
  updatedAt: moment('updated_at'),
})

/** This table has no index; migration 5 says why. */
export const knowledgeBases = eider.table('knowledge_bases', {
  id: integer('id').notNull(),
  projectId: integer('project_id').notNull(),
  name: text('name').notNull(),
  nameKey: text('name_key').notNull(),
  vectorDatabase: text('vector_database').notNull(),
  vectorDatabaseTable: text('vector_database_table').notNull(),
  sealedEmbeddingModel: text('sealed_embedding_model').notNull(),
  sealedRerankingModel: text('sealed_reranking_model'),
  contentColumns: json<readonly string[]>('content_columns'),
  metadataColumns: json<readonly string[]>('metadata_columns'),
  idColumn: text('id_column'),
  sealedPreprocessing: text('sealed_preprocessing').notNull(),
  sealedParams: text('sealed_params').notNull(),
  dimensions: integer('dimensions'),
  storedMetadata: json<readonly MetadataColumn[]>('stored_metadata').notNull(),
  revision: count('revision'),
  nextChunkKey: count('next_chunk_key'),
  createdAt: moment('created_at'),
  updatedAt: moment('updated_at'),
  vectorIndex: json<VectorIndexDefinition>('vector_index'),
  sealedNextEmbeddingModel: text('sealed_next_embedding_model'),
  vectorsNumber: integer('vectors_number').notNull().default(0),
})

/** Agent data in which everything about external MCP servers is encrypted. */
export interface SealedAgentData extends Omit<AgentData, 'mcp'> {
  readonly sealedMcp?: string
}

/** Knowledge bases whose rows are stored in another database. */
export const attachments = eider.table('attachments', {
  knowledgeBaseId: integer('knowledge_base_id').primaryKey(),
  /** The knowledge base's name in the other database. */
  attachment: text('attachment').notNull(),
  /** Whether all rows are also stored locally. If false, only the rows that were needed are. */
  isCopied: boolean('is_copied').notNull(),
  /** The revision of the other database's rows at the last copy. */
  revision: bigint('revision', { mode: 'number' }).notNull(),
})

export const agents = eider.table(
  'agents',
  {
    id: integer('id').primaryKey(),
    projectId: integer('project_id').notNull(),
    name: text('name').notNull(),
    nameKey: text('name_key').notNull(),
    sealedModel: text('sealed_model'),
    data: json<SealedAgentData>('data'),
    promptTemplate: text('prompt_template'),
    params: json<AgentParams>('params').notNull(),
    createdAt: moment('created_at'),
    updatedAt: moment('updated_at'),
  },
  (table) => [unique().on(table.projectId, table.nameKey)],
)

/** This table has no index; migration 6 says why. */
export const files = eider.table('files', {
  id: integer('id').notNull(),
  name: text('name').notNull(),
  nameKey: text('name_key').notNull(),
  originalName: text('original_name').notNull(),
  format: text('format').$type<FileFormat>().notNull(),
  sizeBytes: count('size_bytes'),
  columns: json<readonly string[]>('columns').notNull(),
  rowCount: count('row_count'),
  createdAt: moment('created_at'),
  sheets: json<readonly FileSheet[]>('sheets').notNull(),
  recognized: json<Recognized>('recognized').notNull(),
  warnings: json<readonly string[]>('warnings').notNull(),
  contentType: text('content_type'),
  sourceUrl: text('source_url'),
  contentKey: text('content_key'),
})

export const views = eider.table(
  'views',
  {
    id: integer('id').primaryKey(),
    projectId: integer('project_id').notNull(),
    name: text('name').notNull(),
    nameKey: text('name_key').notNull(),
    sql: text('sql').notNull(),
    database: text('database').notNull(),
    columns: json<readonly RelationColumn[]>('columns').notNull(),
    createdAt: moment('created_at'),
    updatedAt: moment('updated_at'),
  },
  (table) => [unique().on(table.projectId, table.nameKey)],
)

export const tables = eider.table(
  'tables',
  {
    id: integer('id').primaryKey(),
    projectId: integer('project_id').notNull(),
    name: text('name').notNull(),
    nameKey: text('name_key').notNull(),
    columns: json<readonly RelationColumn[]>('columns').notNull(),
    rowCount: count('row_count'),
    createdAt: moment('created_at'),
  },
  (table) => [unique().on(table.projectId, table.nameKey)],
)

/** This table has no index; migration 7 says why. */
export const dataSources = eider.table('data_sources', {
  id: integer('id').notNull(),
  name: text('name').notNull(),
  nameKey: text('name_key').notNull(),
  engine: text('engine').$type<DataSourceEngine>().notNull(),
  sealedParameters: text('sealed_parameters').notNull(),
  createdAt: moment('created_at'),
  updatedAt: moment('updated_at'),
})

export const revokedTokens = eider.table('revoked_tokens', {
  id: text('id').primaryKey(),
  expiresAt: moment('expires_at'),
})

/** This table has no index; migration 8 says why. */
export const jobs = eider.table('jobs', {
  id: integer('id').notNull(),
  kind: text('kind').$type<JobKind>().notNull(),
  projectName: text('project_name').notNull(),
  knowledgeBase: text('knowledge_base'),
  title: text('title').notNull(),
  sealedRequest: text('sealed_request').notNull(),
  itemCount: bigint('item_count', { mode: 'number' }),
  createdAt: moment('created_at'),
})

export const jobStates = eider.table('job_states', {
  jobId: integer('job_id').notNull(),
  state: text('state').$type<JobState>().notNull(),
  startedAt: timestamp('started_at', { precision: 6, mode: 'string' }),
  finishedAt: timestamp('finished_at', { precision: 6, mode: 'string' }),
  rowCount: count('row_count'),
  documentCount: count('document_count'),
  chunkCount: count('chunk_count'),
  total: bigint('total', { mode: 'number' }),
  checkpoint: json<unknown>('checkpoint'),
  error: text('error'),
  errors: json<readonly JobError[]>('errors').notNull(),
  errorCount: count('error_count'),
  startCount: integer('start_count').notNull(),
  skippedCount: count('skipped_count'),
})

/** Sources that knowledge bases sync from. This table has no index; migration 5 says why. */
export const syncSources = eider.table('sync_sources', {
  id: integer('id').notNull(),
  knowledgeBaseId: integer('knowledge_base_id').notNull(),
  name: text('name').notNull(),
  nameKey: text('name_key').notNull(),
  kind: text('kind').$type<SourceKind>().notNull(),
  sealedParameters: text('sealed_parameters').notNull(),
  schedule: text('schedule'),
  isWatched: boolean('is_watched').notNull(),
  removesVanished: boolean('removes_vanished').notNull(),
  createdAt: moment('created_at'),
  updatedAt: moment('updated_at'),
})

export const syncDocuments = eider.table('sync_documents', {
  sourceId: integer('source_id').notNull(),
  item: text('item').notNull(),
  documentId: text('document_id'),
  hash: text('hash'),
  stamp: text('stamp'),
  failure: text('failure'),
  runId: integer('run_id').notNull(),
  outcome: text('outcome').$type<SyncOutcome>().notNull(),
})

export const syncRuns = eider.table('sync_runs', {
  id: integer('id').notNull(),
  sourceId: integer('source_id').notNull(),
  cause: text('cause').$type<RunTrigger>().notNull(),
  state: text('state').$type<SyncRun['state']>().notNull(),
  jobId: integer('job_id'),
  startedAt: moment('started_at'),
  finishedAt: timestamp('finished_at', { precision: 6, mode: 'string' }),
  counts: json<SyncCounts>('counts').notNull(),
  error: text('error'),
  errors: json<readonly JobError[]>('errors').notNull(),
})

export const schedules = eider.table('schedules', {
  id: integer('id').notNull(),
  projectId: integer('project_id').notNull(),
  name: text('name').notNull(),
  nameKey: text('name_key').notNull(),
  sealedQueries: text('sealed_queries').notNull(),
  startAt: moment('start_at'),
  endAt: timestamp('end_at', { precision: 6, mode: 'string' }),
  every: text('every'),
  createdAt: moment('created_at'),
})

export const scheduleStates = eider.table('schedule_states', {
  scheduleId: integer('schedule_id').notNull(),
  nextRunAt: timestamp('next_run_at', { precision: 6, mode: 'string' }),
  lastDueAt: timestamp('last_due_at', { precision: 6, mode: 'string' }),
  lastJobId: integer('last_job_id'),
  lastStartedAt: timestamp('last_started_at', { precision: 6, mode: 'string' }),
  previousStartedAt: timestamp('previous_started_at', { precision: 6, mode: 'string' }),
  marks: json<Readonly<Record<string, LastMark>>>('marks').notNull(),
})

export const scheduleRuns = eider.table('schedule_runs', {
  id: integer('id').notNull(),
  scheduleId: integer('schedule_id').notNull(),
  jobId: integer('job_id').notNull(),
  startedAt: moment('started_at'),
  endedAt: moment('ended_at'),
  state: text('state').$type<ScheduleRun['state']>().notNull(),
  error: text('error'),
})

/** Agent runs. `byteCount` covers all texts, including those of the steps. */
export const traces = eider.table('traces', {
  number: count('number'),
  traceId: text('trace_id').notNull(),
  projectId: integer('project_id').notNull(),
  projectName: text('project_name').notNull(),
  agentId: integer('agent_id').notNull(),
  agentName: text('agent_name').notNull(),
  conversationId: text('conversation_id'),
  provider: text('provider').notNull(),
  modelName: text('model_name').notNull(),
  purpose: text('purpose').$type<RunPurpose>().notNull(),
  question: text('question').notNull(),
  answer: text('answer'),
  outcome: text('outcome').$type<RunOutcome>().notNull(),
  errorCode: text('error_code'),
  errorMessage: text('error_message'),
  startedAt: moment('started_at'),
  endedAt: moment('ended_at'),
  tookMs: doublePrecision('took_ms').notNull(),
  turnCount: integer('turn_count').notNull(),
  stepCount: integer('step_count').notNull(),
  inputTokens: bigint('input_tokens', { mode: 'number' }),
  outputTokens: bigint('output_tokens', { mode: 'number' }),
  cachedTokens: bigint('cached_tokens', { mode: 'number' }),
  cost: doublePrecision('cost'),
  citations: json<readonly Citation[]>('citations').notNull(),
  warnings: json<readonly string[]>('warnings').notNull(),
  byteCount: count('byte_count'),
  /** Who asked, for example `key 3`; null if unknown. */
  askedBy: text('asked_by'),
  evidence: text('evidence').$type<EvidenceLevel>(),
})

/** The steps of an agent run: model turns and their tool calls. */
export const traceSteps = eider.table('trace_steps', {
  traceNumber: count('trace_number'),
  traceId: text('trace_id').notNull(),
  number: integer('number').notNull(),
  kind: text('kind').$type<'turn' | 'tool'>().notNull(),
  tool: text('tool'),
  input: text('input'),
  observation: text('observation'),
  reasoning: text('reasoning'),
  startMs: doublePrecision('start_ms').notNull(),
  tookMs: doublePrecision('took_ms').notNull(),
  firstPieceMs: doublePrecision('first_piece_ms'),
  finish: text('finish').$type<FinishReason>(),
  callCount: integer('call_count'),
  inputTokens: bigint('input_tokens', { mode: 'number' }),
  outputTokens: bigint('output_tokens', { mode: 'number' }),
  cachedTokens: bigint('cached_tokens', { mode: 'number' }),
})

export const traceFeedback = eider.table('trace_feedback', {
  traceId: text('trace_id').notNull(),
  rating: doublePrecision('rating').notNull(),
  comment: text('comment'),
  createdAt: moment('created_at'),
})

export const conversationTurns = eider.table('conversation_turns', {
  number: count('number'),
  conversationId: text('conversation_id').notNull(),
  projectId: integer('project_id').notNull(),
  agentId: integer('agent_id').notNull(),
  traceId: text('trace_id').notNull(),
  question: text('question').notNull(),
  answer: text('answer'),
  outcome: text('outcome').$type<RunOutcome>().notNull(),
  errorCode: text('error_code'),
  citations: json<readonly Citation[]>('citations').notNull(),
  startedAt: moment('started_at'),
  endedAt: moment('ended_at'),
  /** Who asked the first question in the conversation. */
  askedBy: text('asked_by'),
  /** `KeptFindings` as JSON text. */
  findings: text('findings'),
})

/** The summary of a conversation's oldest turns, up to and including `lastTurn`. */
export const conversationSummaries = eider.table('conversation_summaries', {
  conversationId: text('conversation_id').notNull(),
  projectId: integer('project_id').notNull(),
  agentId: integer('agent_id').notNull(),
  lastTurn: count('last_turn'),
  summary: text('summary').notNull(),
})
