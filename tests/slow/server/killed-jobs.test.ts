import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { runJobKills } from '../../../bench/kill-cycles/job-kills.ts'
import { withFolder } from './server-process.ts'

test('kill -9 during background inserts: resumed, nothing twice, nothing missing, counters exact', async () => {
  await withFolder(async (folder) => {
    let seed = 7
    const choose = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % below
    }
    const result = await runJobKills(join(folder, 'data'), 4, choose)
    expect(result.faults).toEqual([])
    expect(result.kills).toBe(4)
  })
}, 180_000)
