import type { Options } from '../../sql/dialect/statement-reader.ts'
import type { QueryDeps } from '../query-deps.ts'

/** Values of parameters by their names. */
export type Values = Pick<ReadonlyMap<string, unknown>, 'get' | 'has'>

export interface Binding {
  readonly deps: QueryDeps
  readonly signal: AbortSignal
  readonly params: Values
  /** What `USING` says of the agents. */
  readonly options: Options | null
}
