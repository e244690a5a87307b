/** The information_schema tables about objects in the catalog. Secrets are masked. */

import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { sees } from '../../core/domain/access/principal.ts'
import type { Agent } from '../../core/domain/agents/agent.ts'
import {
  type Activity,
  type InsertState,
  type JobKind,
  lastInsertInto,
  NO_ACTIVITY,
  storedRowsOf,
} from '../../core/domain/flow/job.ts'
import {
  type DataSourceEngine,
  isSourceEngine,
  SOURCE_PARAMETERS,
} from '../../core/domain/flow/source-parameters.ts'
import {
  DEFAULT_CONTENT_COLUMNS,
  type KnowledgeBase,
  type ReembeddingProgress,
  shownParams,
} from '../../core/domain/knowledge-base.ts'
import { FILES_DATABASE, nameKey } from '../../core/domain/names.ts'
import { type RowStream, rowsOf } from '../../core/domain/query-result.ts'
import { definedFields } from '../../core/json.ts'
import { shownReembedding } from '../definitions/change-embedding-model.ts'
import { agentDataFields, agentParamFields } from '../definitions/define-agent.ts'
import { shownParameters } from '../definitions/define-database.ts'
import { maskedModelFields } from '../definitions/fields.ts'
import { columnsOfTable, type SchemaRow, type SchemaSource } from './schema-table.ts'

/** By table name. Tables missing here are empty, or their rows come from elsewhere. */
export const OBJECT_ROWS: Readonly<Record<string, (source: SchemaSource) => readonly SchemaRow[]>> =
  {
    DATABASES: ({ snapshot }) => databaseRows(snapshot),
    KNOWLEDGE_BASES: ({ snapshot }) => {
      const { activity = NO_ACTIVITY } = snapshot
      return snapshot.knowledgeBases.map((kb) => knowledgeBaseRow(kb, null, activity))
    },
    AGENTS: ({ snapshot }) => snapshot.agents.map(agentRow),
    VIEWS: ({ snapshot }) => {
      return snapshot.views.map((view) => {
        return { NAME: view.name, PROJECT: view.projectName, QUERY: view.sql }
      })
    },
    QUERIES: ({ snapshot }) => queryRows(snapshot.activity ?? NO_ACTIVITY),
    HANDLERS: () => HANDLERS,
  }

const ENGINE_TITLES: Readonly<Record<DataSourceEngine, string>> = {
  postgres: 'PostgreSQL',
  mysql: 'MySQL and MariaDB',
  sqlite: 'SQLite',
  duckdb: 'DuckDB',
}

const SOURCE_ENGINES = Object.keys(SOURCE_PARAMETERS).filter(isSourceEngine)

const HANDLERS: readonly SchemaRow[] = [
  {
    NAME: 'mindsdb',
    TYPE: 'project',
    TITLE: 'Project',
    DESCRIPTION: 'Knowledge bases, agents, views and tables',
    IMPORT_SUCCESS: 'true',
  },
  {
    NAME: FILES_DATABASE,
    TYPE: 'data',
    TITLE: 'Files',
    DESCRIPTION: 'Uploaded files as tables',
    IMPORT_SUCCESS: 'true',
  },
  ...SOURCE_ENGINES.map((engine) => ({
    NAME: engine,
    TYPE: 'data',
    TITLE: ENGINE_TITLES[engine],
    DESCRIPTION: 'Tables of a database, read only',
    CONNECTION_ARGS: JSON.stringify(
      Object.fromEntries(
        SOURCE_PARAMETERS[engine].map(({ name, help, isSecret }) => [
          name,
          { description: help, secret: isSecret },
        ]),
      ),
    ),
    IMPORT_SUCCESS: 'true',
  })),
]

function databaseRows(snapshot: CatalogSnapshot): readonly SchemaRow[] {
  const projects = snapshot.projects.map(({ name }) => ({ NAME: name, TYPE: 'project' }))
  const hasFiles = sees(snapshot.limits?.rights, FILES_DATABASE)
  const files = { NAME: FILES_DATABASE, TYPE: 'data', ENGINE: 'files', CONNECTION_DATA: '{}' }
  const sources = snapshot.dataSources.map((source) => ({
    NAME: source.name,
    TYPE: 'data',
    ENGINE: source.engine,
    CONNECTION_DATA: JSON.stringify(shownParameters(source)),
  }))
  const system = { NAME: 'information_schema', TYPE: 'system' }
  return [system, ...projects, ...(hasFiles ? [files] : []), ...sources]
}

const SHOWN_KINDS: ReadonlySet<JobKind> = new Set(['insert', 'evaluation', 'rechunk', 'move'])

/** Jobs that statements start. Their statements are shown without values. */
function queryRows({ jobs }: Activity): readonly SchemaRow[] {
  return jobs
    .filter(({ kind }) => SHOWN_KINDS.has(kind))
    .map((job) => ({
      ID: job.id,
      STARTED_AT: job.startedAt ?? job.createdAt,
      FINISHED_AT: job.finishedAt,
      PROCESSED_ROWS: storedRowsOf(job),
      SKIPPED_ROWS: job.progress.skipped ?? 0,
      ERROR: job.error ?? (job.state === 'cancelled' ? 'Query was cancelled' : null),
      SQL: job.title,
      DATABASE: job.projectName,
      PARAMETERS: JSON.stringify({ state: job.state, left_out: job.errorCount }),
      CONTEXT: JSON.stringify({ db: job.projectName }),
      UPDATED_AT: job.finishedAt ?? job.startedAt ?? job.createdAt,
    }))
}

function knowledgeBaseRow(
  kb: KnowledgeBase,
  progress: ReembeddingProgress | null,
  activity: Activity,
): SchemaRow {
  const metadata = kb.metadataColumns ?? kb.storedMetadata.map((column) => column.name)
  const { rerankingModel } = kb
  return {
    NAME: kb.name,
    PROJECT: kb.projectName,
    EMBEDDING_MODEL: JSON.stringify(maskedModelFields(kb.embeddingModel)),
    RERANKING_MODEL: rerankingModel && JSON.stringify(maskedModelFields(rerankingModel)),
    STORAGE: `${kb.vectorDatabase}.${kb.vectorDatabaseTable}`,
    METADATA_COLUMNS: JSON.stringify(metadata),
    CONTENT_COLUMNS: JSON.stringify(kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS),
    ID_COLUMN: kb.idColumn ?? 'id',
    PARAMS: JSON.stringify({ ...shownParams(kb), ...shownReembedding(kb, progress) }),
    ...insertCells(lastInsertInto(kb, activity)),
    VECTOR_INDEX: kb.vectorIndex && JSON.stringify(kb.vectorIndex),
  }
}

function insertCells(insert: InsertState | null): SchemaRow {
  if (insert === null) return {}
  return {
    INSERT_STARTED_AT: insert.startedAt,
    INSERT_FINISHED_AT: insert.finishedAt,
    PROCESSED_ROWS: insert.processedRows,
    ERROR: insert.error,
    QUERY_ID: insert.jobId,
  }
}

function agentRow(agent: Agent): SchemaRow {
  return {
    NAME: agent.name,
    PROJECT: agent.projectName,
    MODEL: agent.model && JSON.stringify(maskedModelFields(agent.model)),
    PARAMS: JSON.stringify(agentOptions(agent)),
  }
}

/** An agent's settings besides its model, under their names in SQL. */
export function agentOptions({
  data,
  promptTemplate,
  params,
}: Agent): Readonly<Record<string, unknown>> {
  return definedFields({
    data: data === null ? undefined : agentDataFields(data),
    prompt_template: promptTemplate ?? undefined,
    ...agentParamFields(params),
  })
}

/** @param progress of a change of the embedding model */
export function describedKnowledgeBase(
  kb: KnowledgeBase,
  progress: ReembeddingProgress | null,
  activity: Activity,
): RowStream {
  return described('KNOWLEDGE_BASES', knowledgeBaseRow(kb, progress, activity))
}

export function describedDatabase(snapshot: CatalogSnapshot, name: string): RowStream | undefined {
  const row = databaseRows(snapshot).find((one) => nameKey(String(one.NAME)) === nameKey(name))
  return row && described('DATABASES', row)
}

export function describedAgent(agent: Agent): RowStream {
  return described('AGENTS', agentRow(agent))
}

function described(table: string, row: SchemaRow): RowStream {
  const names = columnsOfTable(table).map(({ name }) => name)
  return rowsOf(names, [names.map((name) => row[name] ?? null)])
}
