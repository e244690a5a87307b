import type { Row } from '../../domain/document.ts'
import type { ColumnMapping } from '../column-mapping.ts'
import { findColumn, ID_COLUMN } from '../column-mapping.ts'

const TEXT_COLUMN = 'content'

export interface OwnText {
  readonly id: string
  readonly content: string
  /** What else is known about the document. */
  readonly columns: Row
}

/**
 * A row for a document that has no columns of its own, such as a page: its text stands in the column `content`, or in
 * the knowledge base's first content column where it has none of that name; content columns that the document does not
 * know are empty.
 */
export function documentRow({ id, content, columns }: OwnText, rule: ColumnMapping): Row {
  const { contentColumns } = rule
  const column = findColumn(contentColumns, TEXT_COLUMN) ?? contentColumns[0] ?? TEXT_COLUMN
  const [idColumn = ID_COLUMN] = rule.idColumns
  const taken = [idColumn, ...contentColumns]
  const others = Object.entries(columns).filter(([name]) => findColumn(taken, name) === undefined)
  const known = contentColumns.map((name) => {
    const own = findColumn(Object.keys(columns), name)
    return [name, own === undefined ? null : (columns[own] ?? null)] as const
  })
  return Object.fromEntries([[idColumn, id], ...known, [column, content], ...others])
}
