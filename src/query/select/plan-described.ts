/** Plans statements with remote tables, after asking their databases for the columns. */

import { type CatalogSnapshot, findDataSource } from '../../core/domain/access/catalog-snapshot.ts'
import type { DataSource, SourceTable } from '../../core/domain/flow/source-parameters.ts'
import { shownTableName } from '../../core/domain/flow/source-parameters.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { DataSources } from '../../core/domain/ports/engine-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { didYouMean, nearestName } from '../../core/short-text.ts'
import type { SelectPlan } from './plan-cache.ts'
import {
  type DescribedTable,
  UndescribedTable,
  type WantedTable,
  wantedTableKey,
} from './plan-cache.ts'
import type { Planner } from './planner.ts'
import type { PlannedRequest } from './planning-protocol.ts'

/** The most references to remote tables in a statement and its views. */
const TABLES_MAX = 100

interface DescribingDeps {
  readonly planner: Pick<Planner, 'plan'>
  readonly sources: Pick<DataSources, 'tables' | 'columns' | 'describe'>
}

/** Plans a statement, asking databases for columns when planning needs them. */
export async function planDescribed(
  request: PlannedRequest,
  snapshot: CatalogSnapshot,
  { planner, sources }: DescribingDeps,
  signal: AbortSignal,
): Promise<SelectPlan> {
  const tables = new Map<string, DescribedTable>()
  const described: SelectPlan['described'][number][] = []
  for (;;) {
    try {
      const plan = await planner.plan({ ...request, tables }, snapshot, signal)
      return tables.size === 0 ? plan : { ...plan, described }
    } catch (error) {
      if (!(error instanceof UndescribedTable)) throw error
      if (tables.size >= TABLES_MAX) {
        const message = `A statement names at most ${TABLES_MAX} tables of databases`
        throw new AppError('sql_not_supported', message)
      }
      const { table } = error
      const known = await describe(table, snapshot, sources, signal)
      tables.set(wantedTableKey(table), known)
      if (known.from !== null) described.push({ table, columns: known.columns })
    }
  }
}

/** Whether the remote tables of a plan still have the same columns. */
export async function isStillDescribed(
  { described }: SelectPlan,
  snapshot: CatalogSnapshot,
  sources: DescribingDeps['sources'],
  signal: AbortSignal,
): Promise<boolean> {
  const same = await Promise.all(
    described.map(async ({ table, columns }) => {
      const now = await describe(table, snapshot, sources, signal)
      return now.from !== null && Bun.deepEquals(now.columns, columns)
    }),
  )
  return same.every(Boolean)
}

/** After a failure, wait this long before examining tables again. */
const LOOK_AGAIN_MS = 3000

/** If so, the cached descriptions are dropped. */
export async function hasChanged(
  plan: SelectPlan,
  snapshot: CatalogSnapshot,
  sources: DescribingDeps['sources'] & Pick<DataSources, 'forgetTables'>,
  signal: AbortSignal,
): Promise<boolean> {
  if (plan.described.length === 0) return false
  for (const { table } of plan.described) sources.forgetTables({ id: table.sourceId })
  const soon = AbortSignal.any([signal, AbortSignal.timeout(LOOK_AGAIN_MS)])
  try {
    return !(await isStillDescribed(plan, snapshot, sources, soon))
  } catch {
    // The original error says more than this one.
    return false
  }
}

async function describe(
  { sourceName, wanted }: WantedTable,
  snapshot: CatalogSnapshot,
  sources: DescribingDeps['sources'],
  signal: AbortSignal,
): Promise<DescribedTable> {
  const source = findDataSource(snapshot, sourceName)
  if (source === undefined) throw notFound('database', sourceName)
  if (wanted.kind === 'native') {
    return { from: wanted, columns: await sources.describe(source, wanted.sql, signal) }
  }
  const [schema, name] = wanted.names.length > 1 ? wanted.names : [null, ...wanted.names]
  const table = { schema: schema ?? null, name: name ?? '' }
  try {
    const columns = await sources.columns(source, table, signal)
    return { from: { kind: 'table', table }, columns }
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'table_not_found') throw error
    return describeSimilar(source, table, sources, signal)
  }
}

/** Finds the table by its name in any case, if there is exactly one. */
async function describeSimilar(
  source: DataSource,
  wanted: Pick<SourceTable, 'schema' | 'name'>,
  sources: DescribingDeps['sources'],
  signal: AbortSignal,
): Promise<DescribedTable> {
  const all = await sources.tables(source, signal)
  const inSchema = all.filter(({ schema }) => {
    return wanted.schema === null || nameKey(schema ?? '') === nameKey(wanted.schema)
  })
  const isWhole = wanted.schema === null && wanted.name.includes('.')
  const same = inSchema.filter(({ schema, name }) => {
    // Clients may quote `schema.table` as one name, because SHOW TABLES lists it in this form.
    const whole = isWhole && schema !== null ? `${schema}.${name}` : name
    return nameKey(whole) === nameKey(wanted.name)
  })
  const [only] = same
  if (only !== undefined && same.length === 1) {
    const table = { schema: only.schema, name: only.name }
    const columns = await sources.columns(source, table, signal)
    return { from: { kind: 'table', table }, columns }
  }
  if (same.length > 1) {
    return { from: null, hint: `. There are several: ${same.map(shownTableName).join(', ')}` }
  }
  const names = inSchema.map(({ name }) => name)
  return { from: null, hint: didYouMean(nearestName(wanted.name, names)) }
}
