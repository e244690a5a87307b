import { expect, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { tableFaults } from '../../../bench/kill-cycles/integrity.ts'
import { withFolder } from './server-process.ts'

const COMMAND = join(import.meta.dir, '../../../bench/kill-cycles/main.ts')

/** Its cycles write for two to four seconds each. */
const SEED = '158400'

async function killCycles(folder: string, cycles: number) {
  const child = Bun.spawn(
    [process.execPath, COMMAND, '--folder', folder, '--cycles', String(cycles), '--seed', SEED],
    { stdout: 'pipe', stderr: 'inherit' },
  )
  const output = await new Response(child.stdout).text()
  return { exitCode: await child.exited, output }
}

test('kill -9 during writes of every kind loses and tears nothing; what is lost is found', async () => {
  await withFolder(async (folder) => {
    const first = await killCycles(folder, 2)
    expect([first.exitCode, first.output]).toEqual([0, expect.stringContaining('2 cycles in all')])
    expect(await tableFaults(join(folder, 'data'))).toEqual([])

    // This simulates an acknowledged change that is missing.
    const path = join(folder, 'progress.json')
    const progress = JSON.parse(await readFile(path, 'utf8'))
    progress.ledger['documents a'].lost = '7'
    await writeFile(path, JSON.stringify(progress))
    const second = await killCycles(folder, 1)
    expect(second.exitCode).toBe(1)
    expect(second.output).toContain('cycle 3:')
    expect(second.output).toContain('FAULT: documents a, lost: absent instead of 7')

    // This simulates a vector, a term count and a posting without their chunk.
    const instance = await DuckDBInstance.create(join(folder, 'data', 'eider-data.duckdb'))
    const connection = await instance.connect()
    const reader = await connection.runAndReadAll(
      "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE table_name LIKE 'kb!_%!_chunks' ESCAPE '!' ORDER BY estimated_size DESC LIMIT 1",
    )
    const chunks = String(reader.getRows()[0]?.[0])
    await connection.run(
      `DELETE FROM ${chunks} WHERE chunk_key = (SELECT max(chunk_key) FROM ${chunks})`,
    )
    connection.closeSync()
    instance.closeSync()
    const faults = (await tableFaults(join(folder, 'data'))).join('\n')
    expect(faults).toContain('1 vectors of other chunks')
    expect(faults).toContain('1 term counts of other chunks')
  })
}, 180_000)
