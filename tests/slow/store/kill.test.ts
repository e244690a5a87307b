import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { chunkTables } from '../../../src/core/domain/document.ts'
import { openStore } from '../../../src/store/store.ts'
import { isEverything } from '../../support/sample.ts'
import { current, rowsOf, temporaryFolder } from '../../support/store-fixture.ts'
import { chunkCountOf } from './kill-rules.ts'

const ROUNDS = isEverything ? 6 : 3
/** The number of acknowledged writes before the process is killed, which differs in each round. */
const WRITES = [3, 40, 7, 90, 25, 60] as const

/** Returns the last version of each document that was acknowledged before the kill. */
async function writeAndKill(
  directory: string,
  round: number,
): Promise<ReadonlyMap<string, number>> {
  const program = join(import.meta.dir, 'kill-program.ts')
  const child = Bun.spawn([process.execPath, program, directory, String(round)], {
    stderr: 'inherit',
  })
  const acknowledged = new Map<string, number>()
  let text = ''
  let count = 0
  const decoder = new TextDecoder()
  for await (const bytes of child.stdout) {
    text += decoder.decode(bytes, { stream: true })
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) {
      const [id = '', version] = line.split(' ')
      acknowledged.set(id, Number(version))
      count += 1
    }
    if (count >= (WRITES[round] ?? 1)) child.kill('SIGKILL')
  }
  await child.exited
  return acknowledged
}

test('after kill -9 every acknowledged document is there, and none is torn', async () => {
  using folder = temporaryFolder()
  let checked = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const acknowledged = await writeAndKill(folder.path, round)
    const store = await openStore({ directory: folder.path })
    const { chunks, vectors } = chunkTables(current(store))
    const rows = await rowsOf(
      store,
      `SELECT document_id, count(*), count(v.vector), min(m1), max(m1),
          bool_and(starts_with(chunk_content, m1::VARCHAR || ' ')),
          bool_and((metadata->>'version')::BIGINT = m1)
         FROM ${chunks} LEFT JOIN ${vectors} AS v USING (chunk_key) GROUP BY document_id`,
    )
    const orphans = await rowsOf(
      store,
      `SELECT count(*) FROM ${vectors} ANTI JOIN ${chunks} USING (chunk_key)`,
    )
    await store.close()
    expect(orphans).toEqual([[0]])
    const versions = new Map(rows.map((row) => [row[0], Number(row[3])]))
    for (const [, chunkCount, vectorCount, oldest, newest, isText, isMetadata] of rows) {
      expect([chunkCount, vectorCount]).toEqual(Array(2).fill(chunkCountOf(Number(newest))))
      expect([oldest, isText, isMetadata]).toEqual([newest ?? null, true, true])
    }
    for (const [id, version] of acknowledged) {
      expect(versions.get(id)).toBeGreaterThanOrEqual(version)
      checked += 1
    }
  }
  // On a busy machine, nothing more is acknowledged before the kill.
  expect(checked).toBeGreaterThanOrEqual(30)
}, 120_000)
