import type { SearchPlan } from './evaluation-searches.ts'
import type { TestTable } from './test-table.ts'

/** The questions of a table, and how they are searched. */
export interface Evaluation {
  readonly table: TestTable
  readonly plan: SearchPlan
  /** A row for each question, instead of one of means. */
  readonly isPerQuestion: boolean
}
