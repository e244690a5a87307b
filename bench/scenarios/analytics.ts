import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { eiderClient } from '../../scripts/eider-client.ts'
import { whileRunning } from '../../scripts/server-process.ts'
import { createKnowledgeBase, fill } from '../filling.ts'
import { percentile } from '../load.ts'
import { sampleTexts } from '../sample-texts.ts'
import { type Measure, type Scenario, startMeasured, withFolder } from '../scenario.ts'
import { startStubProvider, stubEmbeddingModel } from '../stub-provider.ts'

const DOCUMENTS = { quick: 2000, normal: 100_000, full: 100_000 }
const ROUNDS = 15
const CHUNKS = 'project_1.kb_1_chunks'

/**
 * A statement on the knowledge base, and an equivalent one on its tables; `$1` is the query vector.
 */
const QUESTIONS: readonly (readonly [string, string, string])[] = [
  ['count', 'SELECT count(*) FROM k', `SELECT count(*) FROM ${CHUNKS}`],
  [
    'groups',
    'SELECT part, count(*), avg(length(chunk_content)) FROM k GROUP BY part ORDER BY part',
    `SELECT m1, count(*), avg(length(chunk_content)) FROM ${CHUNKS} GROUP BY m1 ORDER BY m1`,
  ],
  [
    'windows',
    'SELECT part, max(r) FROM (SELECT part, rank() OVER (PARTITION BY part ORDER BY id) AS r FROM k) AS x GROUP BY part ORDER BY part',
    `SELECT part, max(r) FROM (SELECT m1 AS part, rank() OVER (PARTITION BY m1 ORDER BY document_id) AS r FROM ${CHUNKS}) AS x GROUP BY part ORDER BY part`,
  ],
  [
    'aggregates over a whole search',
    "SELECT part, count(*), avg(distance) FROM k WHERE content = 'tea' GROUP BY part ORDER BY part",
    `SELECT m1, count(*), avg(1 - array_inner_product(vector, $1::FLOAT[384])) FROM ${CHUNKS}
      JOIN project_1.kb_1_vectors USING (chunk_key) GROUP BY m1 ORDER BY m1`,
  ],
  [
    'the first three of each group of a search',
    "SELECT part, id FROM k WHERE content = 'tea' QUALIFY row_number() OVER (PARTITION BY part ORDER BY distance, chunk_id) <= 3 ORDER BY part, id",
    `SELECT m1 AS part, document_id FROM (SELECT *, 1 - array_inner_product(vector, $1::FLOAT[384]) AS distance
      FROM ${CHUNKS} JOIN project_1.kb_1_vectors USING (chunk_key))
      QUALIFY row_number() OVER (PARTITION BY part ORDER BY distance, chunk_id) <= 3 ORDER BY part, document_id`,
  ],
]

export const analytics: Scenario = {
  name: 'analytics',
  title: 'Analytics over a knowledge base, HTTP included, and DuckDB in this process on its tables',
  run: (size) =>
    withFolder(async (dataDirectory) => {
      const measures = await overHttp(dataDirectory, DOCUMENTS[size])
      // Only one process at a time can use the file.
      return [...measures, ...(await inProcess(dataDirectory))]
    }),
}

async function overHttp(dataDirectory: string, documents: number): Promise<readonly Measure[]> {
  const stub = await startStubProvider()
  try {
    const server = await startMeasured({ dataDirectory })
    return await whileRunning(server, async () => {
      const client = eiderClient(server.baseUrl)
      const embeddingModel = stubEmbeddingModel(stub)
      const filling = { knowledgeBase: 'k', embeddingModel, documents, wordsPerDocument: 100 }
      await createKnowledgeBase({ client, server }, filling)
      await fill({ client, server }, filling, await sampleTexts())
      const measures: Measure[] = []
      for (const [what, sql] of QUESTIONS) {
        measures.push(
          await median(`Eider: ${what}`, async () => (await client.sql(sql)).rows.length),
        )
      }
      return measures
    })
  } finally {
    stub.stop()
  }
}

async function inProcess(dataDirectory: string): Promise<readonly Measure[]> {
  const path = join(dataDirectory, 'eider-data.duckdb')
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  const vector = `[${Array.from({ length: 384 }, (_, at) => Math.sin(at) / 14)}]`
  try {
    const measures: Measure[] = []
    for (const [what, , sql] of QUESTIONS) {
      const run = async () => {
        const reader = await connection.runAndReadAll(sql.replaceAll('$1', vector))
        return reader.getRowsJson().length
      }
      measures.push(await median(`DuckDB: ${what}`, run))
    }
    return measures
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** @param run returns the number of rows */
async function median(what: string, run: () => Promise<number>): Promise<Measure> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now()
    if ((await run()) === 0) throw new Error(`${what} found nothing`)
    times.push(performance.now() - startedAt)
  }
  times.sort((a, b) => a - b)
  return { what, value: percentile(times, 0.5), unit: 'ms' }
}
