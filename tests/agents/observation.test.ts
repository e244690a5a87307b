import { describe, expect, test } from 'bun:test'
import { observationOf, readRows } from '../../src/agents/data/agent-data.ts'
import { AGENT_LIMITS, firstBytes, firstChars } from '../../src/core/domain/agents/agent-limits.ts'
import { type ResultValue, type RowStream, rowsOf } from '../../src/core/domain/query-result.ts'
import { NO_SIGNAL } from './agent-fixture.ts'

const LIMITS = { rowsMax: 30, bytesMax: 32_768 }

function observed(columns: readonly string[], rows: readonly (readonly ResultValue[])[]) {
  return observationOf({ columns, rows, hasMore: false }, LIMITS).text
}

describe('observationOf', () => {
  test('names the columns and writes CSV in the excel dialect', () => {
    const text = observed(
      ['id', 'text'],
      [
        ['1', 'plain'],
        ['2', 'a "quoted", \r\nbroken line'],
      ],
    )
    expect(text).toBe(
      "Output columns: 'id', 'text'\nResult in CSV format (dialect is 'excel'):\n" +
        'id,text\r\n1,plain\r\n2,"a ""quoted"", \r\nbroken line"\r\n',
    )
  })

  test('writes nothing for NULL and JSON for objects and lists', () => {
    const text = observed(['a', 'b', 'c', 'd'], [[null, { k: [1, 'x'] }, [true], 1.5]])
    expect(text).toEndWith('a,b,c,d\r\n,"{""k"":[1,""x""]}",[true],1.5\r\n')
  })

  test('an empty result keeps its columns', () => {
    expect(observed(['a'], [])).toEndWith("(dialect is 'excel'):\na\r\n")
  })

  test('a cut by rows is mentioned before the rows', () => {
    const rows = [['1'], ['2']]
    const { text } = observationOf({ columns: ['a'], rows, hasMore: true }, LIMITS)
    expect(text).toStartWith('The first 2 rows, cut at 30 rows; there are more.')
    expect(text).toContain("\nOutput columns: 'a'\n")
  })

  test('a cut by bytes keeps whole rows and says so', () => {
    const rows = Array.from({ length: 20 }, (_, index) => [`${index} ${'é'.repeat(50)}`])
    const limits = { rowsMax: 30, bytesMax: 1000 }
    const { text, shownCount } = observationOf({ columns: ['a'], rows, hasMore: false }, limits)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000)
    expect(text).toStartWith(`The first ${shownCount} rows, cut at 1000 bytes`)
    expect(shownCount).toBeGreaterThan(3)
    expect(text).toEndWith(`${shownCount - 1} ${'é'.repeat(50)}\r\n`)
  })

  test('a long cell is cut with a note, never inside a character', () => {
    const text = observed(['a'], [[`${'x'.repeat(AGENT_LIMITS.cellCharsMax - 1)}🦆 quack`]])
    const kept = 'x'.repeat(AGENT_LIMITS.cellCharsMax - 1)
    expect(text).toEndWith(`a\r\n${kept}… (8 more characters)\r\n`)
  })

  test('a first row that is too long is shown in part', () => {
    const limits = { rowsMax: 30, bytesMax: 600 }
    const result = { columns: ['a', 'b'], rows: [['x'.repeat(3000), 'y']], hasMore: false }
    const { text, shownCount } = observationOf(result, limits)
    expect(shownCount).toBe(1)
    expect(text).toContain('more characters),y\r\n')
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(600)
  })

  test('never exceeds its bytes, however many columns there are', () => {
    const columns = Array.from({ length: 200 }, (_, index) => `column_${index}`)
    const limits = { rowsMax: 30, bytesMax: 256 }
    const { text } = observationOf({ columns, rows: [columns], hasMore: true }, limits)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(256)
  })
})

describe('firstRows', () => {
  test('reads no further than it must and frees the stream', async () => {
    let batchesRead = 0
    let isFreed = false
    async function* batches() {
      try {
        for (let batch = 0; batch < 1000; batch += 1) {
          batchesRead += 1
          yield [[batch], [batch]]
        }
      } finally {
        isFreed = true
      }
    }
    const stream: RowStream = { columns: [{ name: 'a', type: 'BIGINT' }], batches: batches() }
    const { rows, hasMore } = await readRows(stream, 5, NO_SIGNAL)
    expect(rows).toEqual([[0], [0], [1], [1], [2]])
    expect({ hasMore, batchesRead, isFreed }).toEqual({
      hasMore: true,
      batchesRead: 3,
      isFreed: true,
    })
  })

  test('exactly as many rows as allowed are all there is', async () => {
    const stream = rowsOf(['a'], [['1'], ['2']])
    expect(await readRows(stream, 2, NO_SIGNAL)).toMatchObject({ hasMore: false })
  })
})

describe('text limits', () => {
  test('bytes end with a whole character', () => {
    expect(firstBytes('aé🦆', 3)).toBe('aé')
    expect(firstBytes('aé🦆', 6)).toBe('aé')
    expect(firstBytes('aé🦆', 7)).toBe('aé🦆')
  })

  test('characters end with a whole one', () => {
    expect(firstChars('🦆🦆', 3)).toBe('🦆')
    expect(firstChars('abc', 2)).toBe('ab')
    expect(firstChars('', 0)).toBe('')
  })
})
