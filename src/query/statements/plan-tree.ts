/** DuckDB's plan in JSON, which it writes in two shapes, as one tree. Pure. */
import { isObject } from '../../catalog/fields.ts'

export interface PlanNode {
  /** DuckDB's name of the operator: `HASH_GROUP_BY`. */
  readonly operator: string
  /** What it does, as DuckDB says it: `Filters`, `Order By`. */
  readonly details: Readonly<Record<string, string | readonly string[]>>
  readonly estimated_rows: number | null
  /** These are null where the statement did not run. */
  readonly rows: number | null
  readonly rows_scanned: number | null
  /** Of the operator alone, on all threads together. */
  readonly seconds: number | null
  readonly children: readonly PlanNode[]
}

const ESTIMATE = 'Estimated Cardinality'

/** @param json of a row `physical_plan` or `analyzed_plan`; the statement that DuckDB repeats in it is left out */
export function planTree(json: string): PlanNode | null {
  const parsed: unknown = JSON.parse(json)
  const [root] = Array.isArray(parsed) ? parsed : childrenOf(parsed)
  if (!isObject(root)) return null
  const node = planNode(root)
  // What measures is no part of what was measured.
  const isMeasuring = node.operator === 'EXPLAIN_ANALYZE'
  return isMeasuring ? (node.children[0] ?? null) : node
}

function planNode(given: unknown): PlanNode {
  const node = isObject(given) ? given : {}
  const info = isObject(node.extra_info) ? node.extra_info : {}
  const { [ESTIMATE]: estimate, ...others } = info
  const details = Object.entries(others).map(([name, value]) => [name, detailOf(value)] as const)
  return {
    operator: String(node.name ?? node.operator_name ?? '').trim(),
    details: Object.fromEntries(details),
    estimated_rows: numberOrNull(estimate),
    rows: numberOrNull(node.operator_cardinality),
    rows_scanned: numberOrNull(node.operator_rows_scanned),
    seconds: numberOrNull(node.operator_timing),
    children: childrenOf(node).map(planNode),
  }
}

function childrenOf(node: unknown): readonly unknown[] {
  return isObject(node) && Array.isArray(node.children) ? node.children : []
}

function detailOf(value: unknown): string | readonly string[] {
  return Array.isArray(value) ? value.map(String) : String(value)
}

function numberOrNull(value: unknown): number | null {
  return value === undefined || value === null ? null : Number(value)
}
