/** Rows of remote databases, fetched before the statement that reads them runs. */
import { findDataSource, requireHere } from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { RunLimits, SourceSelect, StagedRows } from '../../core/domain/ports/engine-ports.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { notFound } from '../../core/errors.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { renderDirect, renderRead } from '../../sql/pushdown/render-read.ts'
import type { SourceRead, SourceTotal } from '../../sql/pushdown/source-read.ts'
import type { ParameterValues } from '../sessions.ts'
import type { SelectPlan } from './plan-cache.ts'
import { type QueryDeps, type RunContext, runLimits } from './query-deps.ts'

/** Reads of one statement running at once. */
const READS_AT_ONCE = 4

export interface ReadContext extends RunContext {
  readonly params: ParameterValues
}

/** The rows that a statement reads, for as long as it runs. */
export class SourceRows {
  readonly #staged = new Map<string, StagedRows>()
  /** By the placeholder of a read: the request sent for it may differ a moment later. */
  readonly #keys = new Map<string, string>()
  #isReleased = false

  /** Brings the rows of all reads here. @throws AppError as the sources do; nothing is left then */
  static async stage(plan: SelectPlan, context: ReadContext): Promise<SourceRows> {
    const rows = new SourceRows()
    const reads = new Map<string, SourceRead>()
    for (const read of readsOf(plan)) {
      const key = readKey(read, context)
      rows.#keys.set(read.placeholder, key)
      reads.set(key, read)
    }
    try {
      await mapConcurrent(
        [...reads],
        { concurrencyMax: READS_AT_ONCE, signal: context.signal },
        async ([key, read], signal) => {
          const staged = await context.timer.time('rows', () => stage(read, context, signal))
          rows.#staged.set(key, staged)
        },
      )
      return rows
    } catch (error) {
      await rows.release()
      throw error
    }
  }

  /** The plan with these rows instead of the tables. */
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

/** The plan over tables with these columns and no row: what a statement is like is known without reading. */
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

/** The rows of a statement that is a single read, straight from its source; null: it is more than that. */
export async function directRows(
  { direct }: SelectPlan,
  context: ReadContext,
): Promise<RowStream | null> {
  const answer = direct === null ? null : renderDirect(direct, context.params)
  if (direct === null || answer === null) return null
  const { deps, signal, timer } = context
  const source = readSource(direct.read, context)
  const rows = await timer.time('rows', () => {
    return deps.sources.read(source, answer.select, runLimits(deps), signal)
  })
  const columns = rows.columns.map(({ type }, index) => {
    return { name: direct.items[index]?.name ?? '', type }
  })
  const { rowsMax } = answer
  const batches = rowsMax === null ? rows.batches : boundedBatches(rows.batches, rowsMax)
  // Only these: other forms of the same rows would exceed the limit.
  return { columns, batches }
}

/** At most this many rows. If the reader leaves before starting, the source is stopped, too. */
function boundedBatches(batches: RowStream['batches'], rowsMax: number): RowStream['batches'] {
  return {
    [Symbol.asyncIterator]() {
      const inner = batches[Symbol.asyncIterator]()
      const stop = async () => (await inner.return?.()) ?? { done: true as const, value: undefined }
      let left = rowsMax
      return {
        async next() {
          if (left <= 0) return stop()
          const result = await inner.next()
          if (result.done === true) return result
          const rows = result.value.slice(0, left)
          left -= rows.length
          // The reader has all the rows it may take, so nothing stays open.
          if (left <= 0) await stop()
          return { done: false, value: rows }
        },
        return: stop,
      }
    },
  }
}

/** As the source returns it. */
function totalType({ kind, column }: SourceTotal): string {
  if (kind === 'rows' || kind === 'count' || column === null) return 'BIGINT'
  if (kind !== 'sum') return column.type
  const [, scale = '0'] = /^DECIMAL\(\d+,\s*(\d+)\)$/.exec(column.type) ?? []
  return `DECIMAL(38,${scale})`
}

/** The SQL sent to each source, for EXPLAIN. */
export function describedReads(plan: SelectPlan, { params }: ReadContext): readonly string[] {
  const direct = plan.direct === null ? null : renderDirect(plan.direct, params)
  if (plan.direct !== null && direct !== null) {
    return [`${plan.direct.read.source.name}: ${direct.select.sql}; its rows are the answer`]
  }
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

/** Equal reads are done once. */
function readKey(read: SourceRead, { params }: ReadContext): string {
  const { sql, values } = sourceSelect(read, params)
  return JSON.stringify([read.source.id, sql, values])
}

function sourceSelect(read: SourceRead, params: ParameterValues): SourceSelect {
  return renderRead(read, params).select
}

function stage(read: SourceRead, context: ReadContext, signal: AbortSignal): Promise<StagedRows> {
  const { deps, params } = context
  const limits: RunLimits = runLimits(deps)
  return deps.sources.stage(readSource(read, context), sourceSelect(read, params), limits, signal)
}

/** Its columns by their place: a source may call them otherwise. */
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
        // Remote rows may differ the next time.
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

/** The same rows; their source is released when they are all read, when their reader leaves, or when reading fails. */
export function rowsUntilOver(rows: RowStream, release: () => Promise<void>): RowStream {
  const { exactBatches, typedBatches, encoded } = rows
  // All of them have arrived.
  if (rows.ready !== undefined) void release()
  return {
    ...rows,
    batches: untilOver(rows.batches, release),
    ...(exactBatches === undefined ? {} : { exactBatches: untilOver(exactBatches, release) }),
    ...(typedBatches === undefined ? {} : { typedBatches: untilOver(typedBatches, release) }),
    ...(encoded === undefined
      ? {}
      : { encoded: (...wanted) => untilOver(encoded(...wanted), release) }),
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

/**
 * Brings the knowledge bases of a plan up to what their storages hold.
 * @returns whether they are defined in another way now, so that the plan is out of date
 * @throws AppError `source_failed`, `timeout`
 */
export async function refreshCopies(plan: SelectPlan, deps: QueryDeps): Promise<boolean> {
  const { catalog, storages } = deps
  const remote = knowledgeBasesOf(plan).filter(({ remote }) => remote !== undefined)
  if (remote.length === 0) return false
  const before = catalog.snapshot().definitionsVersion
  await Promise.all(remote.map((kb) => storages.fresh(kb)))
  return catalog.snapshot().definitionsVersion !== before
}

/** @throws AppError `sql_too_costly` where a statement reads all rows of a knowledge base that are not here */
export function requireCopies(plan: SelectPlan): void {
  knowledgeBasesOf(plan).forEach(requireHere)
}

function knowledgeBasesOf({ knowledgeBases, innerPlans }: SelectPlan): readonly KnowledgeBase[] {
  return [...knowledgeBases, ...[...innerPlans.values()].flatMap(knowledgeBasesOf)]
}
