import type { SqlEngine } from '../../src/core/domain/ports/engine-ports.ts'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { createKnowledgeBase } from '../../src/query/definitions/define-knowledge-base.ts'
import { nameScope } from '../../src/query/select/name-scope.ts'
import { planSelect } from '../../src/query/select/plan-select.ts'
import { NO_RERANKERS } from '../../src/query/select/query-deps.ts'
import { openStore } from '../../src/store/store.ts'
import { percentile } from '../load.ts'
import { type Measure, type Scenario, withFolder } from '../scenario.ts'

const DIMENSIONS = 384

const STATEMENTS: readonly (readonly [string, string])[] = [
  ['SELECT 1', 'SELECT 1'],
  ['a search', "SELECT * FROM kb WHERE content = 'tea' AND price < 10 LIMIT 5"],
  [
    'two searches, CTE, join, window',
    `WITH a AS (SELECT id, relevance, price FROM kb WHERE content = 'tea' LIMIT 50),
      b AS (SELECT id, distance FROM kb WHERE content IN ('coffee', 'cocoa') AND kind != 'x')
    SELECT a.id, rank() OVER (PARTITION BY price ORDER BY a.relevance DESC) AS place, avg(b.distance)
    FROM a JOIN b USING (id) WHERE a.price BETWEEN 1 AND 9
    GROUP BY a.id, price, a.relevance HAVING count(*) > 0 ORDER BY place LIMIT 20`,
  ],
]

/** Measures what happens between a statement's text and DuckDB's work on it. No plan is cached here. */
export const planning: Scenario = {
  name: 'planning',
  isInProcess: true,
  title: 'Parsing, checking and rewriting statements, none of them known',
  run: (size) =>
    withFolder(async (directory) => {
      const store = await openStore({ directory, threadPoolSize: 16 })
      try {
        const deps = {
          catalog: store.catalog,
          embedders,
          rerankers: NO_RERANKERS,
          chatProviders: ['builtin'],
          checkAddress: async () => {},
          checkServerAddress: async () => {},
          reembeddings: { wake: () => {}, progressOf: () => null },
          storages: store.copies,
        }
        const fields = { name: 'kb', metadata_columns: ['price', 'kind'] }
        await createKnowledgeBase('mindsdb', fields, deps)
        const rounds = size === 'quick' ? 50 : 400
        const measures: Measure[] = []
        for (const [what, sql] of STATEMENTS) {
          measures.push(...(await planned({ what, sql, rounds }, store)))
        }
        return measures
      } finally {
        await store.close()
      }
    }),
}

interface Planned {
  readonly what: string
  readonly sql: string
  readonly rounds: number
}

async function planned(
  { what, sql, rounds }: Planned,
  { catalog, engine }: Awaited<ReturnType<typeof openStore>>,
): Promise<readonly Measure[]> {
  const allMs: number[] = []
  const duckDbMs: number[] = []
  const timed = timedEngine(engine)
  for (let round = 0; round < rounds; round += 1) {
    timed.reset()
    const startedAt = performance.now()
    await planSelect(`${sql} -- ${round}`, nameScope(catalog.snapshot(), 'mindsdb'), timed.engine)
    allMs.push(performance.now() - startedAt)
    duckDbMs.push(timed.spentMs())
  }
  const sorted = (values: number[]) => values.toSorted((a, b) => a - b)
  return [
    { what: `${what}: all, p50`, value: percentile(sorted(allMs), 0.5), unit: 'ms' },
    { what: `${what}: all, p99`, value: percentile(sorted(allMs), 0.99), unit: 'ms' },
    {
      what: `${what}: waiting for DuckDB's parser, p50`,
      value: percentile(sorted(duckDbMs), 0.5),
      unit: 'ms',
    },
  ]
}

/** Measures the time in which at least one call of DuckDB's parser or printer is running. */
function timedEngine(engine: SqlEngine) {
  let spent = 0
  let running = 0
  let since = 0
  const timed = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running === 0) since = performance.now()
    running += 1
    try {
      return await work()
    } finally {
      running -= 1
      if (running === 0) spent += performance.now() - since
    }
  }
  const wrapped: SqlEngine = {
    parse: (sql) => timed(() => engine.parse(sql)),
    print: (tree) => timed(() => engine.print(tree)),
    run: (statement, limits, signal) => engine.run(statement, limits, signal),
    exportParquet: (select, limits, signal) => engine.exportParquet(select, limits, signal),
    withEncoding: (rows) => engine.withEncoding(rows),
  }
  return {
    engine: wrapped,
    spentMs: () => spent,
    reset: () => {
      spent = 0
    },
  }
}

const embedders: EmbedderRegistry = {
  providers: ['builtin'],
  embedder: () => ({
    embed: async (texts) => texts.map(() => new Float32Array(DIMENSIONS).fill(1)),
  }),
  probe: async () => ({ kind: 'ready', dimensions: DIMENSIONS }),
}
