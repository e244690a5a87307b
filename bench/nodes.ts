/**
 * Searches in a knowledge base that is stored in PostgreSQL and not copied, on one server and on
 * three nodes: their duration, and the disk space. `npx bun bench/nodes.ts 100000` prints a table.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { meaninglessEmbedders } from '../tests/slow/postgres/apps.ts'
import { PGVECTOR_BINARIES, testPgvectorNodes } from '../tests/support/pgvector-server.ts'
import { createTestApp } from '../tests/support/test-app.ts'

const DIMENSIONS = 384
const ROUNDS = 9
const rowCount = Number(process.argv[2] ?? 100_000)
const settings = [
  `shared_buffers=${Math.ceil(rowCount / 500_000)}GB`,
  // An index that does not fit is created many times as slowly.
  `maintenance_work_mem=${Math.ceil(rowCount / 400_000)}GB`,
  'max_wal_size=8GB',
  'work_mem=64MB',
]

const servers = await testPgvectorNodes(4, { settings })
if (servers === null)
  throw new Error('PostgreSQL with pgvector and postgres_fdw cannot be installed here')
const [coordinator, ...nodes] = servers
if (coordinator === undefined) throw new Error('no server')
const eider = await createTestApp({
  environment: { EIDER_NETWORK_ALLOW: '127.0.0.1', EIDER_QUERY_MS: '600000' },
  embedders: meaninglessEmbedders(DIMENSIONS),
})
const seconds = async (work: () => unknown) => {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}
const say = (what: string, value: unknown) => process.stdout.write(`${what}: ${value}\n`)

const parameters = JSON.stringify({ ...coordinator.parameters, storage: true })
await eider
  .rows(`CREATE DATABASE pg ENGINE = 'postgres', PARAMETERS = ${parameters}`)
  .catch(() => {})
const STORAGE = 'storage = {"database": "pg", "table": "kb", "copy": false}'
await eider.rows(`CREATE KNOWLEDGE_BASE kb USING ${STORAGE}, language = 'english'`).catch(() => {})
const KB = '/api/projects/mindsdb/knowledge_bases/kb'
const inserted = Array.from({ length: 2000 }, (_, index) => ({
  id: `d${index}`,
  content: Array.from({ length: 100 }, (_, at) => `w${(index * 37 + at * at * 13) % 5000}`).join(
    ' ',
  ),
  price: index % 50,
}))
say(
  'insert, rows/s',
  Math.round(
    2000 / (await seconds(() => eider.send('PUT', KB, { knowledge_base: { rows: inserted } }))),
  ),
)

// PostgreSQL generates all other rows from these, with vectors of their own, and lengths that differ, so that few of
// their scores are equal.
const columns = `content, metadata, typed, context, is_cut, layout`
const rest = 'terms, frequencies, term_count, language, revision'
const restOfEach = `terms, frequencies, term_count + (n::bigint * 7919 % 499)::integer, language, revision`
const made = await seconds(() =>
  coordinator.run(`
  INSERT INTO eider.kb (chunk_key, document_id, chunk_id, ${columns}, vector, ${rest})
  SELECT n, 'e' || n, 'e' || n || ':0', ${columns},
    (SELECT array_agg(random() - 0.5)::real[]::vector FROM generate_series(1, ${DIMENSIONS}) WHERE n > 0), ${restOfEach}
  FROM generate_series(10001, ${rowCount - 2000} + 10000) AS n JOIN eider.kb AS c ON c.document_id = 'd' || n % 2000`),
)
say('made in PostgreSQL, s', Math.round(made))
const statistics = `UPDATE eider."kb:terms" SET chunk_count = chunk_count * ${rowCount} / 2000;
  UPDATE eider.knowledge_bases SET chunk_count = ${rowCount}, term_total = term_total * ${rowCount} / 2000,
    next_chunk_key = ${rowCount + 20_000}; VACUUM ANALYZE eider.kb`
for (const one of statistics.split(';')) await coordinator.run(one)

const SEARCHES: readonly (readonly [string, string])[] = [
  ['exact', ''],
  ['exact, filter that keeps a fiftieth', 'AND price = 7'],
  ['keyword', 'AND hybrid_search_alpha = 0'],
  ['hybrid without feedback', `AND hybrid_search = true AND hybrid_search_fusion = 'rrf'`],
  ['hybrid with feedback', 'AND hybrid_search = true'],
]

async function measure(title: string, searches: typeof SEARCHES): Promise<void> {
  await Bun.sleep(2500)
  for (const [name, condition] of searches) {
    const taken: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const text = `w${round * 11} w${round * 7 + 100} w${round + 900}`
      const search = `SELECT id FROM kb WHERE content = '${text}' ${condition} LIMIT 10`
      taken.push((await seconds(() => eider.rows(search))) * 1000)
    }
    const median = taken.sort((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0
    say(`${title}, ${name}, ms`, `${median.toFixed(0)} (fastest ${taken[0]?.toFixed(0)})`)
  }
}

const HNSW: typeof SEARCHES = [
  ['HNSW', ''],
  ['HNSW, filter that keeps a fiftieth', 'AND price = 7'],
  ['HNSW, hybrid without feedback', `AND hybrid_search = true AND hybrid_search_fusion = 'rrf'`],
  ['HNSW, hybrid with feedback', 'AND hybrid_search = true'],
]
const sizeOf = `SELECT pg_size_pretty(pg_total_relation_size('eider.kb')) || ', table ' ||
  pg_size_pretty(pg_table_size('eider.kb')) AS size`
say('size', (await coordinator.run(sizeOf))[0]?.size)
await measure('one server', SEARCHES)
say(
  'HNSW index, s',
  (
    await seconds(() =>
      eider
        .rows('CREATE INDEX ON KNOWLEDGE_BASE kb WITH (type = hnsw, ef_construction = 64)')
        .catch(() => {}),
    )
  ).toFixed(0),
)
say(
  'HNSW size',
  (await coordinator.run(`SELECT pg_size_pretty(pg_relation_size('eider."kb:hnsw"')) AS s`))[0]?.s,
)
await measure('one server', HNSW)
await eider.rows('DROP INDEX ON KNOWLEDGE_BASE kb').catch(() => {})

const list = join(tmpdir(), 'eider-bench-nodes.txt')
const lines = nodes.map(
  ({ host, port, database, user }, index) => `node${index + 1} ${host} ${port} ${database} ${user}`,
)
await Bun.write(list, `${lines.join('\n')}\n`)
function script(name: string): void {
  const { port, user, password = '', database } = coordinator ?? {}
  const { exitCode, stderr } = Bun.spawnSync([join('deploy/postgres-nodes', name), list], {
    env: {
      PATH: `${PGVECTOR_BINARIES}:${process.env.PATH}`,
      COORDINATOR: `host=127.0.0.1 port=${port} dbname=${database} user=${user}`,
      PGPASSWORD: password,
      NODE_PASSWORD: password,
      LOGIN: user ?? '',
      TABLE: 'kb',
    },
  })
  if (exitCode !== 0) throw new Error(stderr.toString())
}
say('spread.sh, s', (await seconds(() => script('spread.sh'))).toFixed(0))
await measure('three nodes', SEARCHES)
say('index.sh, s', (await seconds(() => script('index.sh'))).toFixed(0))
await measure('three nodes', HNSW)
say(
  'insert into three nodes, rows/s',
  Math.round(
    1000 /
      (await seconds(() =>
        eider.send('PUT', KB, {
          knowledge_base: {
            rows: inserted.slice(0, 1000).map((row) => ({ ...row, id: `n${row.id}` })),
          },
        }),
      )),
  ),
)
await eider.close()
for (const server of servers) await server.stop()
