/** The catalog as tables, for clients that read it in SQL. Secrets are masked. */
import { maskedModelFields } from '../catalog/model-fields.ts'
import type { Agent } from '../domain/agent.ts'
import type { CatalogSnapshot } from '../domain/catalog-snapshot.ts'
import { literal, quote } from '../domain/identifier.ts'
import { DEFAULT_CONTENT_COLUMNS, type KnowledgeBase } from '../domain/knowledge-base.ts'

export const INFORMATION_SCHEMA = 'information_schema'

type Cell = string | null

export interface CatalogTable {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/** Name in lower case → the table's content. */
const TABLES: Readonly<Record<string, (snapshot: CatalogSnapshot) => CatalogTable>> = {
  databases: databaseTable,
  knowledge_bases: (snapshot) => knowledgeBaseTable(snapshot.knowledgeBases),
  agents: (snapshot) => agentTable(snapshot.agents),
}

export const INFORMATION_SCHEMA_TABLES = Object.keys(TABLES)

/** A SELECT of the table's rows, or undefined when there is no such table. */
export function informationSchemaSql(snapshot: CatalogSnapshot, name: string): string | undefined {
  const key = name.toLowerCase()
  const table = Object.hasOwn(TABLES, key) ? TABLES[key]?.(snapshot) : undefined
  if (table === undefined) return undefined
  const names = table.columns.map(quote).join(', ')
  if (table.rows.length === 0) {
    const none = table.columns.map((column) => `NULL::VARCHAR AS ${quote(column)}`)
    return `SELECT ${none.join(', ')} WHERE false`
  }
  const values = table.rows.map((row) => {
    return `(${row.map((cell) => (cell === null ? 'NULL::VARCHAR' : literal(cell))).join(', ')})`
  })
  return `SELECT * FROM (VALUES ${values.join(', ')}) AS t(${names})`
}

export function databaseTable(snapshot: CatalogSnapshot): CatalogTable {
  const projects = snapshot.projects.map((project) => [project.name, 'project', null, null])
  return {
    columns: ['NAME', 'TYPE', 'ENGINE', 'CONNECTION_DATA'],
    rows: [...projects, ['files', 'data', 'files', '{}']],
  }
}

export function knowledgeBaseTable(kbs: readonly KnowledgeBase[]): CatalogTable {
  return {
    columns: KNOWLEDGE_BASE_FIELDS.map(([name]) => name),
    rows: kbs.map((kb) => KNOWLEDGE_BASE_FIELDS.map(([, cell]) => cell(kb))),
  }
}

export function agentTable(agents: readonly Agent[]): CatalogTable {
  return {
    columns: ['NAME', 'PROJECT', 'MODEL', 'PARAMS'],
    rows: agents.map((agent) => [
      agent.name,
      agent.projectName,
      agent.model && JSON.stringify(maskedModelFields(agent.model)),
      JSON.stringify(agent.params),
    ]),
  }
}

/** The columns of INFORMATION_SCHEMA.KNOWLEDGE_BASES, as clients read them. */
const KNOWLEDGE_BASE_FIELDS: readonly (readonly [string, (kb: KnowledgeBase) => Cell])[] = [
  ['NAME', (kb) => kb.name],
  ['PROJECT', (kb) => kb.projectName],
  ['EMBEDDING_MODEL', (kb) => JSON.stringify(maskedModelFields(kb.embeddingModel))],
  [
    'RERANKING_MODEL',
    (kb) => kb.rerankingModel && JSON.stringify(maskedModelFields(kb.rerankingModel)),
  ],
  ['STORAGE', (kb) => `${kb.vectorDatabase}.${kb.vectorDatabaseTable}`],
  [
    'METADATA_COLUMNS',
    (kb) => JSON.stringify(kb.metadataColumns ?? kb.storedMetadata.map((column) => column.name)),
  ],
  ['CONTENT_COLUMNS', (kb) => JSON.stringify(kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS)],
  ['ID_COLUMN', (kb) => kb.idColumn ?? 'id'],
  ['PARAMS', (kb) => JSON.stringify(kb.params)],
  ['INSERT_STARTED_AT', () => null],
  ['INSERT_FINISHED_AT', () => null],
  ['PROCESSED_ROWS', () => null],
  ['ERROR', () => null],
  ['QUERY_ID', () => null],
]
