/** Conditions on the columns of chunks, where PostgreSQL holds the chunks. */
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import { literal, nameKey } from '../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import { columnNames, isNode, queryNode, statementOf, type TreeNode } from '../ast/select-ast.ts'
import { parameterOf } from '../guard/placeholders.ts'
import { SourceText } from './column-kinds.ts'
import { renderCondition } from './render-condition.ts'
import { sourceCondition } from './source-conditions.ts'

const OWN_COLUMNS: Readonly<Record<string, string>> = {
  id: 'document_id',
  chunk_id: 'chunk_id',
  chunk_content: 'content',
}

/** DuckDB's types whose values compare alike there, under the names that they have there. */
const NATIVE_TYPES: Readonly<Record<string, string>> = {
  BOOLEAN: 'boolean',
  SMALLINT: 'smallint',
  INTEGER: 'integer',
  BIGINT: 'bigint',
  DOUBLE: 'double precision',
  VARCHAR: 'text',
  DATE: 'date',
  TIMESTAMP: 'timestamp without time zone',
  'TIMESTAMP WITH TIME ZONE': 'timestamp with time zone',
  UUID: 'uuid',
}

function chunkColumns(kb: KnowledgeBase): ReadonlyMap<string, SourceColumn> {
  const columns = new Map<string, SourceColumn>()
  for (const [name, column] of Object.entries(OWN_COLUMNS)) {
    columns.set(name, { ...TEXT, name: column })
  }
  for (const { name, type } of kb.storedMetadata) {
    const nativeType = NATIVE_TYPES[type] ?? type.replace(/^DECIMAL/, 'numeric')
    const key = nameKey(name)
    // The name is an expression: see `ChunkText`.
    const path = `(typed->>${literal(key)})::${nativeType}`
    columns.set(key, { name: path, type, nativeType, isNullable: true })
  }
  return columns
}

const TEXT = { type: 'VARCHAR', nativeType: 'text', isNullable: false } as const

/** Names of columns are expressions over the rows of chunks. */
class ChunkText extends SourceText {
  override name(name: string): string {
    return `(${name})`
  }
}

/**
 * The condition of a SELECT as `prefilterSql` makes it.
 * @param tree of that SELECT
 * @param params values of its placeholders
 * @returns null: PostgreSQL cannot tell exactly which chunks meet it
 */
export function chunkCondition(
  tree: TreeNode,
  kb: KnowledgeBase,
  params: Readonly<Record<string, unknown>>,
): SourceSelect | null {
  const where = queryNode(statementOf(tree)).where_clause
  if (!isNode(where)) return null
  const columns = chunkColumns(kb)
  const condition = sourceCondition(where, (node) => {
    return columns.get(nameKey(columnNames(node).at(-1) ?? ''))
  })
  const given = Object.entries(params).map(([name, value]) => [parameterOf(name), value] as const)
  const text = new ChunkText('postgres')
  const rendered = renderCondition(condition, { text, params: new Map(given) })
  if (rendered === null || rendered.exactness === 'wide') return null
  return { sql: rendered.sql, values: text.values }
}
