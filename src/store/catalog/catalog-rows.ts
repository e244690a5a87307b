/** Rows of the catalog's tables ⇄ what the domain talks about. */
import type { Agent } from '../../domain/agent.ts'
import { DEFAULT_FUSION, fusionNamed, type SearchDefaults } from '../../domain/hybrid-search.ts'
import type { KnowledgeBase, Preprocessing } from '../../domain/knowledge-base.ts'
import { DEFAULT_LANGUAGE, type Language, languageNamed } from '../../domain/language.ts'
import type { ModelRef } from '../../domain/model-ref.ts'
import type { Project, ProjectTable, View } from '../../domain/project.ts'
import type { UploadedFile } from '../../domain/uploaded-file.ts'
import type { agents, files, knowledgeBases, projects, tables, views } from './schema.ts'
import type { Secrets } from './secrets.ts'

type ProjectRow = typeof projects.$inferSelect
type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect
type AgentRow = typeof agents.$inferSelect
type FileRow = typeof files.$inferSelect
type ViewRow = typeof views.$inferSelect
type TableRow = typeof tables.$inferSelect

/** What the rows of a project's things need besides themselves. */
export interface RowContext {
  readonly projectName: string
  readonly secrets: Secrets
}

export function projectOf(row: ProjectRow): Project {
  const { nameKey: _, ...project } = row
  return project
}

export function knowledgeBaseOf(row: KnowledgeBaseRow, context: RowContext): KnowledgeBase {
  const { secrets, projectName } = context
  const params = unsealed<KnowledgeBase['params']>(row.sealedParams, secrets)
  return {
    id: row.id,
    name: row.name,
    projectId: row.projectId,
    projectName,
    vectorDatabase: row.vectorDatabase,
    vectorDatabaseTable: row.vectorDatabaseTable,
    embeddingModel: unsealed<ModelRef>(row.sealedEmbeddingModel, secrets),
    rerankingModel: unsealedOrNull<ModelRef>(row.sealedRerankingModel, secrets),
    contentColumns: row.contentColumns,
    metadataColumns: row.metadataColumns,
    idColumn: row.idColumn,
    preprocessing: unsealed<Preprocessing>(row.sealedPreprocessing, secrets),
    search: searchDefaultsOf(params),
    language: languageOf(params),
    params,
    dimensions: row.dimensions,
    vectorsNumber: row.vectorsNumber,
    nextEmbeddingModel: unsealedOrNull<ModelRef>(row.sealedNextEmbeddingModel, secrets),
    storedMetadata: row.storedMetadata,
    vectorIndex: row.vectorIndex,
    revision: row.revision,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

function searchDefaultsOf(params: KnowledgeBase['params']): SearchDefaults {
  const { hybrid_search: isHybrid, hybrid_search_alpha: alpha, hybrid_search_fusion: name } = params
  const fusion = typeof name === 'string' ? fusionNamed(name) : undefined
  return {
    isHybrid: isHybrid === true,
    alpha: typeof alpha === 'number' ? alpha : null,
    fusion: fusion ?? DEFAULT_FUSION,
  }
}

function languageOf({ language: name }: KnowledgeBase['params']): Language {
  return (typeof name === 'string' ? languageNamed(name) : undefined) ?? DEFAULT_LANGUAGE
}

export function agentOf(row: AgentRow, context: RowContext): Agent {
  const { nameKey: _, sealedModel, ...agent } = row
  const model = unsealedOrNull<ModelRef>(sealedModel, context.secrets)
  return { ...agent, projectName: context.projectName, model }
}

export function fileOf(row: FileRow): UploadedFile {
  const { nameKey: _, ...file } = row
  return file
}

export function viewOf(row: ViewRow, projectName: string): View {
  const { nameKey: _, ...view } = row
  return { ...view, projectName }
}

export function tableOf(row: TableRow, projectName: string): ProjectTable {
  const { nameKey: _, ...table } = row
  return { ...table, projectName }
}

/**
 * A model, settings or parameters as one encrypted text. All of it, since keys, passwords and
 * connection strings stand under names that only their providers know.
 */
export function sealedJson(value: unknown, secrets: Secrets): string {
  return secrets.seal(JSON.stringify(value))
}

export function sealedJsonOrNull(value: unknown, secrets: Secrets): string | null {
  return value === null ? null : sealedJson(value, secrets)
}

/** Sealed texts are authentic: what comes out is what `sealedJson` was given for this column. */
function unsealed<T>(sealed: string, secrets: Secrets): T {
  // Its type was checked when it was sealed; GCM's tag says that it is the same.
  return JSON.parse(secrets.open(sealed)) as T
}

export function unsealedOrNull<T>(sealed: string | null, secrets: Secrets): T | null {
  return sealed === null ? null : unsealed<T>(sealed, secrets)
}
