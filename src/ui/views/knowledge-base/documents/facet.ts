/** What a facet of one column is given. */
import type { ColumnTypes, Filters } from '../../../api/filters.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'

export interface FacetProps {
  readonly of: KnowledgeBaseName
  readonly column: string
  readonly types: ColumnTypes
  /** Of the other columns: a facet's own choice does not narrow its own counts. */
  readonly others: Filters
  readonly condition: unknown
  readonly countsChunks: boolean
  /** Texts of which each begins with a day, as `2024-05-06`: narrowed down as dates are. */
  readonly holdsDays?: boolean
  /** Undefined: no condition. */
  readonly onChange: (condition: unknown) => void
}
