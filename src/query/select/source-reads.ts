/** Fetches rows of remote databases before the statement that reads them runs. */
import { findDataSource, requireHere } from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { SourceSelect, StagedRows } from '../../core/domain/ports/engine-ports.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { notFound } from '../../core/errors.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { renderRead } from '../../sql/pushdown/render-read.ts'
import type { SourceRead, SourceTotal } from '../../sql/pushdown/source-read.ts'
import type { SelectPlan } from './plan-cache.ts'
import { type QueryDeps, type RunContext, runLimits } from './query-deps.ts'

/** The most reads to run at once for a statement. */
const READS_AT_ONCE = 4

/** The remote rows that a statement reads, kept while it runs. */
export class SourceRows {
  readonly #staged = new Map<string, StagedRows>()
  /** By the read's placeholder, because a later request for the same read may differ. */
  readonly #keys = new Map<string, string>()
  #isReleased = false

  /** @throws AppError like the sources, after removing everything fetched */
  static async stage(plan: SelectPlan, context: RunContext): Promise<SourceRows> {
    const { deps, params } = context
    const rows = new SourceRows()
    const reads = new Map<string, { readonly read: SourceRead; readonly select: SourceSelect }>()
    for (const read of readsOf(plan)) {
      const { select } = renderRead(read, params)
      // Equal keys mean equal reads, which are done once.
      const key = JSON.stringify([read.source.id, select.sql, select.values, select.rowsMax])
      rows.#keys.set(read.placeholder, key)
      reads.set(key, { read, select })
    }
    try {
      await mapConcurrent(
        [...reads],
        { concurrencyMax: READS_AT_ONCE, signal: context.signal },
        async ([key, { read, select }], signal) => {
          const source = readSource(read, context)
          const stage = () => deps.sources.stage(source, select, runLimits(deps), signal)
          rows.#staged.set(key, await context.timer.time('rows', stage))
        },
      )
      return rows
    } catch (error) {
      await rows.release()
      throw error
    }
  }

  /** Returns the plan with these rows in place of the remote tables. */
  planWith(plan: SelectPlan): SelectPlan {
    return withReads(plan, (read) => {
      const staged = this.#staged.get(this.#keys.get(read.placeholder) ?? '')
      if (staged === undefined) throw new Error('the rows of each read are staged')
      return shaped(staged.select, read)
    })
  }

  async release(): Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    await Promise.allSettled([...this.#staged.values()].map((staged) => staged.release()))
  }
}

/** The plan over empty tables with these columns, to describe a statement without reading. */
export function planWithoutRows(plan: SelectPlan): SelectPlan {
  return withReads(plan, (read) => {
    const columns = read.columns.map(({ name, type }) => {
      return `CASE WHEN range > 0 THEN CAST(NULL AS ${type}) END AS ${quote(name)}`
    })
    const totals = read.groups?.totals.map((total, index) => {
      return `CASE WHEN range > 0 THEN CAST(NULL AS ${totalType(total)}) END AS eider_total_${index}`
    })
    const items = [...columns, ...(totals ?? [])]
    return `(SELECT ${items.length === 0 ? '1 AS eider_row' : items.join(', ')} FROM range(1))`
  })
}

function totalType({ kind, column }: SourceTotal): string {
  if (kind === 'rows' || kind === 'count' || column === null) return 'BIGINT'
  if (kind !== 'sum') return column.type
  const [, scale = '0'] = /^DECIMAL\(\d+,\s*(\d+)\)$/.exec(column.type) ?? []
  return `DECIMAL(38,${scale})`
}

/** Returns the SQL sent to each source, for EXPLAIN. */
export function describedReads(plan: SelectPlan, { params }: RunContext): readonly string[] {
  const texts = readsOf(plan).map((read) => {
    const { select, isExact } = renderRead(read, params)
    const here = isExact ? 'no row more than needed' : 'the rest is done here'
    return `${read.source.name}: ${select.sql}; ${here}`
  })
  return [...new Set(texts)]
}

export function readsOf(plan: SelectPlan): readonly SourceRead[] {
  return [...plan.reads, ...[...plan.innerPlans.values()].flatMap(readsOf)]
}

function readSource({ source }: SourceRead, { deps }: RunContext) {
  const found = findDataSource(deps.catalog.snapshot(), source.name)
  if (found === undefined || found.id !== source.id) throw notFound('database', source.name)
  return found
}

/** Selects columns by position, because a source may name them differently. */
function shaped(select: string, read: SourceRead): string {
  const { columns, from, groups } = read
  if ((columns.length === 0 && groups === null) || from.kind === 'native') return `(${select})`
  const totals = groups?.totals.map((_, index) => `eider_total_${index}`) ?? []
  const names = [...columns.map(({ name }) => quote(name)), ...totals].join(', ')
  return `(SELECT * FROM (${select}) AS eider_rows(${names}))`
}

function withReads(plan: SelectPlan, textOf: (read: SourceRead) => string): SelectPlan {
  const texts = new Map(readsOf(plan).map((read) => [read.placeholder, textOf(read)]))
  return texts.size === 0 ? plan : replaced(plan, texts)
}

const PLACEHOLDER = /eider_source_[0-9a-f]{32}/g

function replaced(plan: SelectPlan, texts: ReadonlyMap<string, string>): SelectPlan {
  const put = (sql: string) => sql.replaceAll(PLACEHOLDER, (name) => texts.get(name) ?? name)
  const { candidates, innerPlans } = plan
  return {
    ...plan,
    sql: put(plan.sql),
    candidates: candidates && {
      ...candidates,
      sql: put(candidates.sql),
      requests: candidates.requests.map((request) => {
        const { prefilter } = request
        // Remote rows may differ next time.
        if (prefilter === null || put(prefilter.sql) === prefilter.sql) return request
        return {
          ...request,
          prefilter: { ...prefilter, sql: put(prefilter.sql), isCacheable: false },
        }
      }),
    },
    innerPlans: new Map([...innerPlans].map(([tree, inner]) => [tree, replaced(inner, texts)])),
  }
}

/** Frees their source when all are read, when the reader leaves, or when reading fails. */
export function rowsUntilOver(rows: RowStream, release: () => Promise<void>): RowStream {
  const { exactBatches, typedBatches, encoded } = rows
  // All rows have arrived.
  if (rows.ready !== undefined) void release()
  return {
    ...rows,
    batches: untilOver(rows.batches, release),
    ...(exactBatches && { exactBatches: untilOver(exactBatches, release) }),
    ...(typedBatches && { typedBatches: untilOver(typedBatches, release) }),
    ...(encoded && { encoded: (...wanted) => untilOver(encoded(...wanted), release) }),
  }
}

function untilOver<T>(batches: AsyncIterable<T>, release: () => Promise<void>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const inner = batches[Symbol.asyncIterator]()
      return {
        async next() {
          try {
            const result = await inner.next()
            if (result.done === true) await release()
            return result
          } catch (error) {
            await release()
            throw error
          }
        },
        async return(value?: unknown) {
          try {
            return (await inner.return?.(value)) ?? { done: true, value: undefined }
          } finally {
            await release()
          }
        },
      }
    },
  }
}

/** @returns true if definitions changed: the plan is outdated @throws AppError `timeout`, … */
export async function refreshCopies(plan: SelectPlan, deps: QueryDeps): Promise<boolean> {
  const { catalog, storages } = deps
  const remote = knowledgeBasesOf(plan).filter(({ remote }) => remote !== undefined)
  if (remote.length === 0) return false
  const before = catalog.snapshot().definitionsVersion
  await Promise.all(remote.map((kb) => storages.fresh(kb)))
  return catalog.snapshot().definitionsVersion !== before
}

/** @throws AppError `sql_too_costly` for reading all rows without a full copy */
export function requireCopies(plan: SelectPlan): void {
  knowledgeBasesOf(plan).forEach(requireHere)
}

function knowledgeBasesOf({ knowledgeBases, innerPlans }: SelectPlan): readonly KnowledgeBase[] {
  return [...knowledgeBases, ...[...innerPlans.values()].flatMap(knowledgeBasesOf)]
}
