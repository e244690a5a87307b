import { describe, expect, test } from 'bun:test'
import { compared, handOver, measuredRoot } from '../../bench/compared-checkouts.ts'
import { growthPlot } from '../../bench/growth-plot.ts'
import { measureRows } from '../../bench/measure.ts'
import { cpuMsOf } from '../../bench/server-cpu.ts'
import { isWhole, socketSlice } from '../../bench/socket-client.ts'

describe('two checkouts', () => {
  test('work by turns, and one that is done keeps the other from nothing', async () => {
    const order: string[] = []
    const results = await compared('/other', async () => {
      const isOther = measuredRoot() === '/other'
      for (const slice of isOther ? [1, 2, 3, 4] : [1, 2]) {
        await Promise.resolve()
        order.push(`${isOther ? 'other' : 'own'} ${slice}`)
        await handOver()
      }
      return isOther
    })
    expect(results).toEqual([false, true])
    expect(order).toEqual(['own 1', 'other 1', 'own 2', 'other 2', 'other 3', 'other 4'])
  })

  test('one that fails ends the comparison with its reason, after the other is done', async () => {
    let isDone = false
    const failing = compared('/other', async () => {
      await handOver()
      if (measuredRoot() !== '/other') throw new Error('no rows')
      await handOver()
      isDone = true
    })
    await expect(failing).rejects.toThrow('no rows')
    expect(isDone).toBe(true)
  })
})

describe('a row of figures', () => {
  const load = { p50Ms: 2, p99Ms: 5, perSecond: 400, cpuMs: Number.NaN }

  test('leaves out unknown values', () => {
    const { columnNames, rows } = measureRows([{ what: 'a search', load }], null)
    expect(columnNames).toEqual(['measure', 'p50', 'p99', 'rate'])
    expect(rows).toEqual([['a search', '2 ms', '5 ms', '400/s']])
  })

  test('says how many times the other checkout’s it is', () => {
    const other = { what: 'a search', load: { ...load, p50Ms: 8, cpuMs: 3 } }
    const { rows } = measureRows([{ what: 'a search', load: { ...load, cpuMs: 1.5 } }], [other])
    expect(rows[0]?.[1]).toBe('2 ms, was 8: × 0.25')
    expect(rows[0]?.[4]).toBe('1.5 ms, was 3: × 0.50')
  })
})

describe('the client of our own', () => {
  test('knows where an answer ends', () => {
    expect(isWhole('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no')).toBe(false)
    expect(isWhole('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')).toBe(true)
    expect(isWhole('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n')).toBe(false)
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'
    expect(isWhole(chunked)).toBe(true)
  })

  test('sends one body after the other, each once its client is answered', async () => {
    const received: unknown[] = []
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: async (request) => {
        received.push(await request.json())
        return Response.json({ type: 'ok' })
      },
    })
    const baseUrl = `http://127.0.0.1:${server.port}`
    const bodies = ['1', '2', JSON.stringify('x'.repeat(300_000))]
    const load = { baseUrl, method: 'POST', path: '/sql/query', bodies, clients: 2, seconds: 0.05 }
    try {
      const { count } = await socketSlice(load, 1)
      expect(received).toHaveLength(count)
      expect(received.slice(0, 2).map((body) => String(body).length)).toEqual([1, 300_000])
    } finally {
      await server.stop(true)
    }
  })
})

test('the processor time of a process is what it took, where the system tells', () => {
  const before = cpuMsOf(process.pid)
  if (Number.isNaN(before)) return
  while (cpuMsOf(process.pid) === before);
  expect(cpuMsOf(process.pid)).toBeGreaterThan(before)
  expect(cpuMsOf(2 ** 30)).toBeNaN()
})

test('the plot has a panel for each measure that grows', () => {
  const measures = [1000, 10_000].flatMap((chunks) => [
    { what: `${chunks.toLocaleString('en')} chunks: disk`, value: chunks / 300, unit: 'MB' },
    { what: `${chunks.toLocaleString('en')} chunks: memory above idle`, value: 100, unit: 'MB' },
  ])
  const svg = growthPlot(measures, null)
  expect(svg).toContain('Disk (MB)')
  expect(svg.match(/<circle/g)).toHaveLength(4)
  expect(svg).not.toContain('NaN')
})
