import type { CatalogSnapshot } from '../../domain/catalog-snapshot.ts'
import { fileTable } from '../../domain/chunk-tables.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { RelationColumn } from '../../domain/project.ts'
import type { SchemaSource, SchemaTable } from './schema-table.ts'

/** Whatever can stand in a FROM. */
export interface CatalogRelation {
  /** The project, `files` or `information_schema`. */
  readonly schema: string
  readonly name: string
  readonly type: 'BASE TABLE' | 'VIEW' | 'KNOWLEDGE BASE' | 'AGENT' | 'SYSTEM VIEW'
  readonly columns: readonly DescribedColumn[]
  readonly rowCount?: number
  readonly createdAt?: string
  readonly updatedAt?: string
  readonly comment?: string
  /** DuckDB's name of a file's table, which alone knows the types of its columns. */
  readonly physicalTable?: string
}

export interface DescribedColumn extends RelationColumn {
  readonly comment?: string
}

/** Project by project, then the files, then information_schema itself. */
export function catalogRelations({ snapshot, tables }: SchemaSource): readonly CatalogRelation[] {
  const ofProjects = snapshot.projects.flatMap((project) => {
    return projectRelations(snapshot).filter(({ schema }) => schema === project.name)
  })
  return [...ofProjects, ...fileRelations(snapshot), ...tables.map(systemRelation)]
}

function projectRelations(snapshot: CatalogSnapshot): readonly CatalogRelation[] {
  const knowledgeBases = snapshot.knowledgeBases.map((kb): CatalogRelation => {
    return { ...kb, schema: kb.projectName, type: 'KNOWLEDGE BASE', columns: columnsOf(kb) }
  })
  const tables = snapshot.tables.map((table): CatalogRelation => {
    return { ...table, schema: table.projectName, type: 'BASE TABLE' }
  })
  const views = snapshot.views.map((view): CatalogRelation => {
    return { ...view, schema: view.projectName, type: 'VIEW' }
  })
  const agents = snapshot.agents.map((agent): CatalogRelation => {
    return { ...agent, schema: agent.projectName, type: 'AGENT', columns: AGENT_COLUMNS }
  })
  return [...knowledgeBases, ...tables, ...views, ...agents]
}

const AGENT_COLUMNS: readonly DescribedColumn[] = [
  { name: 'answer', type: 'VARCHAR' },
  { name: 'question', type: 'VARCHAR', comment: "What is asked: WHERE question = '…'" },
  { name: 'trace_id', type: 'VARCHAR', comment: 'Not shown by *' },
  { name: 'citations', type: 'VARCHAR', comment: 'JSON; not shown by *' },
]

const CHUNK_COLUMNS: readonly DescribedColumn[] = [
  { name: 'id', type: 'VARCHAR', comment: 'The document' },
  { name: 'chunk_id', type: 'VARCHAR' },
  { name: 'chunk_content', type: 'VARCHAR' },
  { name: 'metadata', type: 'JSON' },
  { name: 'relevance', type: 'DOUBLE', comment: '0 to 1; null without a search' },
  { name: 'distance', type: 'DOUBLE', comment: '0 to 2; null without a search' },
]

/** What `*` shows, then what can be named as well: the metadata columns, and the one that is searched by. */
function columnsOf(kb: KnowledgeBase): readonly DescribedColumn[] {
  const columns = new Map(CHUNK_COLUMNS.map((column) => [column.name, column]))
  const comment = 'Metadata; not shown by *'
  const declared = (kb.metadataColumns ?? []).map((name) => ({ name, type: 'VARCHAR' }))
  for (const { name, type } of [...kb.storedMetadata, ...declared]) {
    const key = name.toLowerCase()
    if (!columns.has(key) && key !== 'content') columns.set(key, { name, type, comment })
  }
  const search = { comment: "Searched by meaning: WHERE content = '…'; not shown by *" }
  return [...columns.values(), { name: 'content', type: 'VARCHAR', ...search }]
}

function fileRelations(snapshot: CatalogSnapshot): readonly CatalogRelation[] {
  return snapshot.files.map((file) => ({
    schema: 'files',
    name: file.name,
    type: 'BASE TABLE',
    columns: file.columns.map((name) => ({ name, type: 'VARCHAR' })),
    rowCount: file.rowCount,
    createdAt: file.createdAt,
    comment: file.originalName,
    physicalTable: fileTable(file.id),
  }))
}

function systemRelation({ name, columns }: SchemaTable): CatalogRelation {
  return { schema: 'information_schema', name, type: 'SYSTEM VIEW', columns }
}
