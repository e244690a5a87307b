/** Translates conditions on chunk columns for chunks stored in PostgreSQL. */
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { literal, nameKey } from '../../core/domain/names.ts'
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

/** PostgreSQL's names for DuckDB types whose values both databases compare in the same way. */
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

const TEXT = { type: 'VARCHAR', nativeType: 'text', isNullable: false } as const

/** Returns the expression for a metadata column. */
type PathOf = (key: string, nativeType: string) => string

function chunkColumns(kb: KnowledgeBase, pathOf: PathOf): ReadonlyMap<string, SourceColumn> {
  const columns = new Map<string, SourceColumn>()
  for (const [name, column] of Object.entries(OWN_COLUMNS)) {
    columns.set(name, { ...TEXT, name: column })
  }
  for (const { name, type } of kb.storedMetadata) {
    const nativeType = NATIVE_TYPES[type] ?? type.replace(/^DECIMAL/, 'numeric')
    const key = nameKey(name)
    columns.set(key, { name: pathOf(key, nativeType), type, nativeType, isNullable: true })
  }
  return columns
}

/** In this text, names of columns are expressions over chunk rows. */
class ChunkText extends SourceText {
  static readonly pathOf: PathOf = (key, nativeType) => `(typed->>${literal(key)})::${nativeType}`

  constructor() {
    super('postgres')
  }

  override name(name: string): string {
    return `(${name})`
  }
}

/** postgres_fdw passes on functions of `deploy/postgres-nodes`, but no casts or JSON texts. */
class SpreadText extends ChunkText {
  static override readonly pathOf: PathOf = (key, nativeType) => {
    const [name = ''] = /^\w+/.exec(nativeType) ?? []
    const isText = nativeType === 'text'
    const type = isText ? 'bytes' : nativeType.includes('with time zone') ? `${name}tz` : name
    return `eider.as_${type}(typed, ${literal(JSON.stringify(key))}::json)`
  }

  override bytes(name: string): string {
    return isOwn(name) ? `eider.as_bytes${name}` : name
  }

  override bytesOf(value: string): string {
    this.values.push(`\\x${Buffer.from(value).toString('hex')}`)
    return `$${this.values.length}::bytea`
  }

  override indexed(name: string, values: readonly string[]): string {
    return isOwn(name) ? super.indexed(name, values) : ''
  }

  override plain(name: string): string {
    return isOwn(name) ? name : `convert_from(${name}, 'UTF8')`
  }
}

function isOwn(name: string): boolean {
  return Object.values(OWN_COLUMNS).some((column) => name === `(${column})`)
}

/**
 * Translates the condition of a SELECT built by `prefilterSql`.
 * @param tree of that SELECT
 * @param params values of its placeholders
 * @param isSpread whether the rows are on several nodes
 * @returns null if PostgreSQL cannot decide exactly which chunks meet it
 */
export function chunkCondition(
  tree: TreeNode,
  kb: KnowledgeBase,
  {
    params,
    isSpread,
  }: { readonly params: Readonly<Record<string, unknown>>; readonly isSpread: boolean },
): SourceSelect | null {
  const where = queryNode(statementOf(tree)).where_clause
  if (!isNode(where)) return null
  const Text = isSpread ? SpreadText : ChunkText
  const columns = chunkColumns(kb, Text.pathOf)
  const condition = sourceCondition(where, (node) => {
    return columns.get(nameKey(columnNames(node).at(-1) ?? ''))
  })
  const given = Object.entries(params).map(([name, value]) => [parameterOf(name), value] as const)
  const text = new Text()
  const rendered = renderCondition(condition, { text, params: new Map(given) })
  if (rendered === null || rendered.exactness === 'wide') return null
  return { sql: rendered.sql, values: text.values }
}
