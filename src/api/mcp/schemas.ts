/** The columns of what SQL and searches name, for models. */
import type { Principal } from '../../core/domain/access/principal.ts'
import { nameKey } from '../../core/domain/identifier.ts'
import {
  DEFAULT_CONTENT_COLUMNS,
  KNOWLEDGE_BASE_COLUMNS,
  type KnowledgeBase,
} from '../../core/domain/knowledge-base.ts'
import { FILES_DATABASE } from '../../core/domain/project.ts'
import type { McpUses } from './mcp-uses.ts'
import { visibleData } from './visible-data.ts'

export function contentColumnsOf(kb: KnowledgeBase): readonly string[] {
  return kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS
}

export interface NamedSchema {
  readonly namespace: string
  readonly name: string
  readonly kind: 'knowledge_base' | 'table' | 'view' | 'file'
  read(): Promise<Readonly<Record<string, unknown>>>
}

/** Everything whose columns are known without asking anybody else. */
export function visibleSchemas(uses: McpUses, principal: Principal): readonly NamedSchema[] {
  const data = visibleData(uses.snapshot(), principal)
  const plain = (record: Readonly<Record<string, unknown>>) => async () => record
  return [
    ...data.knowledgeBases.map((kb): NamedSchema => {
      const { projectName: namespace, name } = kb
      return { namespace, name, kind: 'knowledge_base', read: () => knowledgeBaseSchema(kb, uses) }
    }),
    ...data.tables.map(({ projectName: namespace, name, columns, rowCount }): NamedSchema => {
      const read = plain({ kind: 'table', name: `${namespace}.${name}`, columns, rows: rowCount })
      return { namespace, name, kind: 'table', read }
    }),
    ...data.views.map(({ projectName: namespace, name, columns }): NamedSchema => {
      const read = plain({ kind: 'view', name: `${namespace}.${name}`, columns })
      return { namespace, name, kind: 'view', read }
    }),
    ...data.files.map(({ name, columns, rowCount }): NamedSchema => {
      const named = columns.map((column) => ({ name: column }))
      const record = { kind: 'file', name: `${FILES_DATABASE}.${name}`, columns: named }
      const read = plain({ ...record, rows: rowCount })
      return { namespace: FILES_DATABASE, name, kind: 'file', read }
    }),
  ]
}

export function schemaNamed(
  schemas: readonly NamedSchema[],
  { namespace, name }: { readonly namespace: string; readonly name: string },
): NamedSchema | undefined {
  return schemas.find((schema) => {
    return (
      nameKey(schema.namespace) === nameKey(namespace) && nameKey(schema.name) === nameKey(name)
    )
  })
}

async function knowledgeBaseSchema(
  kb: KnowledgeBase,
  uses: McpUses,
): Promise<Readonly<Record<string, unknown>>> {
  return {
    kind: 'knowledge_base',
    name: `${kb.projectName}.${kb.name}`,
    ...(await uses.sizeOf(kb)),
    content_columns: contentColumnsOf(kb),
    metadata_columns: kb.storedMetadata.map(({ name, type }) => ({ name, type })),
    columns: KNOWLEDGE_BASE_COLUMNS,
    language: kb.language,
    updated_at: kb.updatedAt,
    how_to_search: `SELECT id, chunk_content, relevance FROM ${kb.projectName}.${kb.name} WHERE content = 'words' LIMIT 10`,
  }
}
