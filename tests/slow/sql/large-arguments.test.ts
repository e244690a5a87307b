import { expect, test } from 'bun:test'
import { isEverything } from '../../support/sample.ts'
import { largeStatements, runLarge } from './large-arguments.ts'

/** Runs one of this many statements; `bun bench/large-arguments.ts` runs all. */
const SAMPLE_EVERY = isEverything ? 101 : 301

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux(
  'functions over large values end by themselves and leave other clients alone',
  async () => {
    const all = await largeStatements()
    expect(all.length).toBeGreaterThan(300)
    const statements = all.filter((_, index) => index % SAMPLE_EVERY === 0)
    const { endings, peakBytes, failures, restarts, honest } = await runLarge(statements, {
      // The normal statement gets this much time, even on a busy machine.
      queryMs: 12_000,
    })
    expect(failures).toEqual([])
    expect(peakBytes).toBeLessThan(1.2e9)
    expect(endings.broken).toBeUndefined()
    // A busy machine may take long to fill the memory. If a statement does not stop, the server is then replaced.
    if (restarts.last !== null) expect(restarts.last.reason).toBe('planned')
    expect(honest).toEqual([[3_000_000]])
  },
  300_000,
)
