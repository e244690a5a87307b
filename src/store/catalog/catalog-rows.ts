/** Converts between catalog rows and domain objects. */

import { asc } from 'drizzle-orm'
import type { Agent, AgentData } from '../../core/domain/agents/agent.ts'
import type { DataSource } from '../../core/domain/flow/source-parameters.ts'
import {
  DEFAULT_FUSION,
  fusionNamed,
  type SearchDefaults,
} from '../../core/domain/hybrid-search.ts'
import {
  completePreprocessing,
  type KnowledgeBase,
  type Preprocessing,
} from '../../core/domain/knowledge-base.ts'
import { DEFAULT_LANGUAGE, type Language, languageNamed } from '../../core/domain/language.ts'
import { BUILTIN_PROVIDER, type ModelRef } from '../../core/domain/model-ref.ts'
import type { Project, ProjectTable, View } from '../../core/domain/names.ts'
import type { UploadedFile } from '../../core/domain/uploaded-file.ts'
import { AppError, StartError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import type { Database } from '../duckdb/database.ts'
import { queriesOver } from './catalog-queries.ts'
import { CatalogState } from './catalog-state.ts'
import {
  agents,
  attachments,
  dataSources,
  files,
  keyCheck,
  knowledgeBases,
  projects,
  type SealedAgentData,
  tables,
  views,
} from './schema.ts'
import { openSecrets, type Secrets } from './secrets.ts'

const KEY_CHECK_TEXT = 'eider'

/** If the key is refused, nothing is changed. @throws StartError without the right key */
export async function openCheckedSecrets(
  database: Database,
  folder: string | null,
): Promise<Secrets> {
  const seal = await database.lease(async (connection) => {
    const sql = `SELECT 1 FROM duckdb_tables()
      WHERE schema_name = 'eider' AND table_name = 'key_check'`
    const known = await allRows(connection, sql)
    if (known.length === 0) return undefined
    const [row] = await queriesOver(connection).select().from(keyCheck)
    return row?.sealed
  })
  const secrets = openSecrets(folder, seal === undefined)
  if (seal !== undefined) checkKey(seal, secrets)
  return secrets
}

export async function loadCatalog(database: Database, secrets: Secrets): Promise<CatalogState> {
  await database.write(async (connection) => {
    const queries = queriesOver(connection)
    if ((await queries.select().from(keyCheck)).length > 0) return
    await queries.insert(keyCheck).values({ id: 1, sealed: secrets.seal(KEY_CHECK_TEXT) })
  })
  return database.lease(async (connection) => {
    const queries = queriesOver(connection)
    const projectRows = await queries.select().from(projects).orderBy(asc(projects.id))
    const names = new Map(projectRows.map((row) => [row.id, row.name]))
    const contextOf = (row: { readonly projectId: number }) => {
      const projectName = names.get(row.projectId)
      if (projectName === undefined) throw new Error(`project ${row.projectId} is missing`)
      return { projectName, secrets }
    }
    const places = await queries.select().from(attachments)
    const remotes = new Map(
      places.map(({ knowledgeBaseId, attachment, isCopied }) => {
        return [knowledgeBaseId, { attachment, isCopied }]
      }),
    )
    const knowledgeBaseOfRow = (row: KnowledgeBaseRow) => {
      const remote = remotes.get(row.id)
      const { projectName } = contextOf(row)
      return knowledgeBaseOf(row, { projectName, ...(remote && { remote }) }, secrets)
    }
    const kbRows = await queries.select().from(knowledgeBases).orderBy(asc(knowledgeBases.id))
    const agentRows = await queries.select().from(agents).orderBy(asc(agents.id))
    const viewRows = await queries.select().from(views).orderBy(asc(views.id))
    const tableRows = await queries.select().from(tables).orderBy(asc(tables.id))
    const fileRows = await queries.select().from(files).orderBy(asc(files.id))
    const sourceRows = await queries.select().from(dataSources).orderBy(asc(dataSources.id))
    return new CatalogState({
      projects: projectRows.map(projectOf),
      knowledgeBases: kbRows.map(knowledgeBaseOfRow),
      agents: agentRows.map((row) => agentOf(row, contextOf(row))),
      files: fileRows.map(fileOf),
      views: viewRows.map((row) => viewOf(row, contextOf(row).projectName)),
      tables: tableRows.map((row) => tableOfRow(row, contextOf(row).projectName)),
      dataSources: sourceRows.map((row) => dataSourceOf(row, secrets)),
    })
  })
}

function checkKey(seal: string, secrets: Secrets): void {
  try {
    if (secrets.open(seal) === KEY_CHECK_TEXT) return
  } catch (error) {
    const advice = 'put eider.key back from the backup that the data comes from'
    throw new StartError(`The key file does not fit the data: ${advice}`, error)
  }
  throw new AppError('internal', 'The key check of the catalog is damaged')
}

type ProjectRow = typeof projects.$inferSelect
type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect
type AgentRow = typeof agents.$inferSelect
type FileRow = typeof files.$inferSelect
type ViewRow = typeof views.$inferSelect
type TableRow = typeof tables.$inferSelect
type DataSourceRow = typeof dataSources.$inferSelect

interface RowContext {
  readonly projectName: string
  readonly secrets: Secrets
}

export function projectOf(row: ProjectRow): Project {
  const { nameKey: _, ...project } = row
  return project
}

/** @param known values that come from other tables */
export function knowledgeBaseOf(
  row: KnowledgeBaseRow,
  known: Pick<KnowledgeBase, 'projectName' | 'remote'>,
  secrets: Secrets,
): KnowledgeBase {
  const { projectName, remote } = known
  const {
    nameKey: _,
    nextChunkKey: __,
    sealedEmbeddingModel,
    sealedRerankingModel,
    sealedPreprocessing,
    sealedParams,
    sealedNextEmbeddingModel,
    ...plain
  } = row
  const { crawlWarnings, indexLanguage, learnedLanguage, hasOlderTerms, ...params } =
    storedParamsOf(sealedParams, secrets)
  const embeddingModel = unsealed<ModelRef>(sealedEmbeddingModel, secrets)
  return {
    ...plain,
    crawlWarnings,
    projectName,
    ...(remote && { remote }),
    embeddingModel,
    rerankingModel: unsealedOrNull<ModelRef>(sealedRerankingModel, secrets),
    preprocessing: completePreprocessing(unsealed<Preprocessing>(sealedPreprocessing, secrets)),
    search: searchDefaultsOf(params, embeddingModel),
    ...languagesOf(params, indexLanguage, learnedLanguage),
    hasOlderTerms,
    params,
    nextEmbeddingModel: unsealedOrNull<ModelRef>(sealedNextEmbeddingModel, secrets),
  }
}

/** Reserved names: the API does not let clients send parameters with these names. */
const CRAWL_WARNINGS = '_crawl_warnings'
const INDEX_LANGUAGE = '_index_language'
const LEARNED_LANGUAGE = '_learned_language'
const OLDER_TERMS = '_older_terms'

/** The catalog's own values, stored in the same column as the client's parameters. */
interface KeptParams extends Pick<KnowledgeBase, 'crawlWarnings' | 'hasOlderTerms'> {
  /** The language chosen for the keyword index; null: the detected one, or the default. */
  readonly indexLanguage: Language | null
  /** The language detected from the texts. */
  readonly learnedLanguage: Language | null
}

export type StoredParams = KnowledgeBase['params'] & KeptParams

/** The values for a new knowledge base. */
export const NOTHING_KEPT: KeptParams = {
  crawlWarnings: [],
  indexLanguage: null,
  learnedLanguage: null,
  hasOlderTerms: false,
}

/** Survive a changed definition: the keyword index keeps its old language for now. */
export function keptParams({ sealedParams }: KnowledgeBaseRow, secrets: Secrets): KeptParams {
  const stored = storedParamsOf(sealedParams, secrets)
  const { crawlWarnings, indexLanguage, learnedLanguage, hasOlderTerms, ...params } = stored
  const { language } = languagesOf(params, indexLanguage, learnedLanguage)
  return { crawlWarnings, indexLanguage: language, learnedLanguage, hasOlderTerms }
}

/** Returns the parameters and the catalog's own values, encrypted as one text. */
export function sealedParamsOf(
  { crawlWarnings, indexLanguage, learnedLanguage, hasOlderTerms, ...params }: StoredParams,
  secrets: Secrets,
): string {
  const kept = {
    ...(crawlWarnings.length === 0 ? {} : { [CRAWL_WARNINGS]: crawlWarnings }),
    ...(indexLanguage === null ? {} : { [INDEX_LANGUAGE]: indexLanguage }),
    ...(learnedLanguage === null ? {} : { [LEARNED_LANGUAGE]: learnedLanguage }),
    ...(hasOlderTerms ? { [OLDER_TERMS]: true } : {}),
  }
  return sealedJson({ ...params, ...kept }, secrets)
}

export function storedParamsOf(sealed: string, secrets: Secrets): StoredParams {
  const {
    [CRAWL_WARNINGS]: warnings,
    [INDEX_LANGUAGE]: indexed,
    [LEARNED_LANGUAGE]: learned,
    [OLDER_TERMS]: older,
    ...params
  } = unsealed<KnowledgeBase['params']>(sealed, secrets)
  return {
    ...params,
    crawlWarnings: Array.isArray(warnings) ? warnings.map(String) : [],
    indexLanguage: languageOf(indexed),
    learnedLanguage: languageOf(learned),
    hasOlderTerms: older === true,
  }
}

function searchDefaultsOf(params: KnowledgeBase['params'], model: ModelRef): SearchDefaults {
  const { hybrid_search: isHybrid, hybrid_search_alpha: alpha, hybrid_search_fusion: name } = params
  const { hybrid_search_feedback: feedback } = params
  const fusion = typeof name === 'string' ? fusionNamed(name) : undefined
  return {
    isHybrid: isHybrid === true,
    alpha: typeof alpha === 'number' ? alpha : null,
    fusion: fusion ?? DEFAULT_FUSION,
    // Measurements showed that pseudo-relevance feedback improves results for the built-in model.
    hasFeedback: typeof feedback === 'boolean' ? feedback : model.provider === BUILTIN_PROVIDER,
  }
}

function languagesOf(
  { language: name }: KnowledgeBase['params'],
  indexed: Language | null,
  learned: Language | null,
): Pick<KnowledgeBase, 'language' | 'nextLanguage' | 'isLanguageKnown'> {
  const named = languageOf(name)
  const language = indexed ?? named ?? DEFAULT_LANGUAGE
  const wanted = named ?? learned ?? language
  const nextLanguage = wanted === language ? null : wanted
  return { language, nextLanguage, isLanguageKnown: (named ?? learned) !== null }
}

function languageOf(name: unknown): Language | null {
  return (typeof name === 'string' ? languageNamed(name) : undefined) ?? null
}

export function agentOf(row: AgentRow, context: RowContext): Agent {
  const { nameKey: _, sealedModel, data, ...agent } = row
  const model = unsealedOrNull<ModelRef>(sealedModel, context.secrets)
  return { ...agent, projectName: context.projectName, model, data: dataOf(data, context) }
}

export function sealedData(data: AgentData | null, secrets: Secrets): SealedAgentData | null {
  if (data === null) return null
  const { mcp, ...plain } = data
  return mcp === undefined ? plain : { ...plain, sealedMcp: sealedJson(mcp, secrets) }
}

function dataOf(stored: SealedAgentData | null, { secrets }: RowContext): AgentData | null {
  if (stored === null) return null
  const { sealedMcp, ...plain } = stored
  if (sealedMcp === undefined) return plain
  return { ...plain, mcp: unsealed<NonNullable<AgentData['mcp']>>(sealedMcp, secrets) }
}

export function fileOf(row: FileRow): UploadedFile {
  const { nameKey: _, ...file } = row
  return file
}

export function viewOf(row: ViewRow, projectName: string): View {
  const { nameKey: _, ...view } = row
  return { ...view, projectName }
}

export function tableOfRow(row: TableRow, projectName: string): ProjectTable {
  const { nameKey: _, ...table } = row
  return { ...table, projectName }
}

export function dataSourceOf(row: DataSourceRow, secrets: Secrets): DataSource {
  const { nameKey: _, sealedParameters, ...source } = row
  return { ...source, parameters: unsealed<DataSource['parameters']>(sealedParameters, secrets) }
}

/** All of it: only the providers could tell which fields hold secrets. */
export function sealedJson(value: unknown, secrets: Secrets): string {
  return secrets.seal(JSON.stringify(value))
}

export function sealedJsonOrNull(value: unknown, secrets: Secrets): string | null {
  return value === null ? null : sealedJson(value, secrets)
}

/**
 * Decrypts a text. The encryption is authenticated, so the result is what `sealedJson` was given.
 */
export function unsealed<T>(sealed: string, secrets: Secrets): T {
  // Type-checked when it was encrypted, and GCM's tag proves that it is unchanged.
  return JSON.parse(secrets.open(sealed)) as T
}

export function unsealedOrNull<T>(sealed: string | null, secrets: Secrets): T | null {
  return sealed === null ? null : unsealed<T>(sealed, secrets)
}
