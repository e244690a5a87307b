import { expect, test } from 'bun:test'
import { Analyzer } from '../../../src/core/text/analyzer.ts'

const MEGABYTE = 1024 ** 2

test('a million different words are forgotten again', () => {
  const analyzer = new Analyzer('none')
  const before = process.memoryUsage().rss
  for (let round = 0; round < 100; round += 1) {
    const words = Array.from(
      { length: 10_000 },
      (_, index) => `${round}x${index}x${'y'.repeat(40)}`,
    )
    analyzer.count([words.join(' ')])
  }
  Bun.gc(true)
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * MEGABYTE)
}, 120_000)
