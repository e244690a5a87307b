import type { AllowedData } from '../../core/domain/agents/agent.ts'
import { literal, nameKey, quote } from '../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { FILES_DATABASE } from '../../core/domain/project.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { AGENT_LIMITS } from '../agent-limits.ts'
import { type FirstRows, readRows } from './observation.ts'

export interface SelectScope {
  /** The project of names without a qualifier. */
  readonly project: string
  readonly allowed: AllowedData
  /** The namespaces its views may read; unset: all. */
  readonly within?: readonly string[] | undefined
}

/**
 * Runs one statement if it is a SELECT over what is allowed.
 * @throws AppError of the `sql_…` group, `timeout`, `too_busy`, `provider_failed` when a text
 * cannot be embedded
 */
export type Select = (sql: string, scope: SelectScope, signal: AbortSignal) => Promise<RowStream>

export interface TypedRows extends FirstRows {
  /** DuckDB's names, one for each column. */
  readonly types: readonly string[]
}

/** Reads what one agent may read. */
export interface DataReader {
  readonly scope: SelectScope
  /** The first rows of a statement's result, by default as many as a model is shown, and whether there are more. */
  read(sql: string, signal: AbortSignal, rowsMax?: number): Promise<TypedRows>
}

export function dataReader(scope: SelectScope, select: Select): DataReader {
  return {
    scope,
    async read(sql, signal, rowsMax = AGENT_LIMITS.observationRowsMax) {
      const stream = await select(sql, scope, signal)
      const types = stream.columns.map((column) => column.type)
      const rows = await readRows(stream, rowsMax, signal)
      return { ...rows, types }
    },
  }
}

/** The quoted full name: `"project"."kb"`. */
export function sqlName(kb: KnowledgeBase): string {
  return `${quote(kb.projectName)}.${quote(kb.name)}`
}

/** The same for a table or view, also one of a data source: `"shop"."public"."orders"`. */
export function sqlTableName(table: string): string {
  const [first = '', ...rest] = table.split('.')
  // Only the name of a file may have dots itself.
  const parts = nameKey(first) === FILES_DATABASE ? [rest.join('.')] : rest
  return [first, ...parts].map(quote).join('.')
}

/** The stored chunks with these ids, each with the number of its knowledge base in the list. */
export function selectChunks(
  wanted: readonly { readonly kb: KnowledgeBase; readonly chunkIds: readonly string[] }[],
): string {
  const selects = wanted.map(({ kb, chunkIds }, index) => {
    const ids = chunkIds.map((chunkId) => literal(chunkId)).join(', ')
    const columns = `${index} AS source, id, chunk_id, chunk_content, metadata`
    return `SELECT ${columns} FROM ${sqlName(kb)} WHERE chunk_id IN (${ids})`
  })
  return selects.join(' UNION ALL ')
}
