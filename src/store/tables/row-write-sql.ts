/** SQL for a change of a table's rows: what is read of it first, how the change is made of that, and whether it still fits. */
import { projectSchema, projectTable } from '../../core/domain/chunk.ts'
import { quote } from '../../core/domain/identifier.ts'
import type { RowWrite } from '../../core/domain/ports/store-ports.ts'
import {
  type ProjectTable,
  ROW_HASH,
  ROW_ID,
  rowHash,
  rowIdentity,
} from '../../core/domain/project.ts'
import { STAGED_ROWS } from '../duckdb/staged-select.ts'

export function tableName(table: Pick<ProjectTable, 'projectId' | 'id'>): string {
  return `${quote(projectSchema(table.projectId))}.${quote(projectTable(table.id))}`
}

/** A SELECT whose columns the staged rows get. */
export function shapeOf({ table, kind, columns }: RowWrite): string {
  const own = columns.map(quote)
  const identity = kind === 'insert' ? [] : [rowIdentity('t', table)]
  return `SELECT ${[...identity, ...own].join(', ')} FROM ${tableName(table)} AS t`
}

/**
 * How many rows are meant, and how many of them are not what they were. A checkpoint may give the rows of a table other
 * ids, also while a transaction is open: so a row is found by its id and known by its values.
 */
export function identityCheck({ table }: RowWrite): string {
  return `SELECT count(DISTINCT s.${ROW_ID}),
      count(*) FILTER (WHERE t.rowid IS NULL OR ${rowHash('t', table)} <> s.${ROW_HASH})
    FROM ${STAGED_ROWS} AS s LEFT JOIN ${tableName(table)} AS t ON t.rowid = s.${ROW_ID}`
}

/** The change, with the caller's expressions that were not staged. */
export function wholeChange(write: RowWrite): string {
  const { returning, conflict = null } = write
  const onConflict = conflict === null ? '' : ` ON CONFLICT ${conflict}`
  return changeSql(write) + onConflict + (returning === null ? '' : ` RETURNING ${returning}`)
}

function changeSql({ table, alias, kind, columns, instead = null }: RowWrite): string {
  const target = `${tableName(table)} AS ${quote(alias)}`
  if (kind === 'insert') {
    const list = columns.map(quote).join(', ')
    const how = instead === null ? 'INSERT' : `INSERT OR ${instead.toUpperCase()}`
    return `${how} INTO ${target} (${list}) SELECT ${list} FROM ${STAGED_ROWS}`
  }
  if (kind === 'delete') {
    return `DELETE FROM ${target} WHERE ${quote(alias)}.rowid IN (SELECT ${ROW_ID} FROM ${STAGED_ROWS})`
  }
  const values = columns.map((name) => `${quote(name)} = eider_rows.${quote(name)}`)
  const rows = `(SELECT DISTINCT ON (${ROW_ID}) * FROM ${STAGED_ROWS}) AS eider_rows`
  return `UPDATE ${target} SET ${values.join(', ')} FROM ${rows}
    WHERE ${quote(alias)}.rowid = eider_rows.${ROW_ID}`
}
