import { afterAll, describe, expect, test } from 'bun:test'
import type { RawDocument } from '../../src/core/domain/ports/reading-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { DocumentReader, documentReaderOptions } from '../../src/ingest/readers/document-reader.ts'
import { never } from './insert-fixture.ts'

const SLOW_READER = new URL('../reading/slow-reader.ts', import.meta.url).href

const { processes } = documentReaderOptions()

const readers: DocumentReader[] = []

function reader(changes: Partial<ReturnType<typeof documentReaderOptions>> = {}): DocumentReader {
  const one = new DocumentReader({ ...documentReaderOptions(), ...changes })
  readers.push(one)
  return one
}

afterAll(async () => {
  await Promise.all(readers.map((one) => one.close()))
})

function text(content: string): RawDocument {
  return { bytes: new TextEncoder().encode(content), format: 'text', charset: null, url: null }
}

async function failure(work: Promise<unknown>): Promise<readonly [string, string]> {
  const error = await work.catch((cause: unknown) => cause)
  if (error instanceof AppError) return [error.code, error.message]
  throw new Error(`expected an AppError, found ${error}`)
}

/**
 * Takes longer than any test waits. It consists of many texts, because the engine gives up on a
 * single text after some time.
 */
const catastrophe = ['(a+)+$']
const victim = Array.from({ length: 500 }, () => `${'a'.repeat(60)}b`)

describe('the reader of documents', () => {
  test('reads documents one after the other', async () => {
    const one = reader()
    const texts = ['first', 'second', 'third']
    const read = await Promise.all(texts.map((content) => one.read(text(content), never)))
    expect(read.map(({ content }) => content)).toEqual(texts)
  })

  test('survives a document that cannot be read', async () => {
    const one = reader()
    const broken: RawDocument = { ...text('no pdf'), format: 'pdf' }
    const [code, message] = await failure(one.read(broken, never))
    expect(code).toBe('file_unreadable')
    expect(message).toContain('The PDF could not be read')
    expect((await one.read(text('next'), never)).content).toBe('next')
  })

  test('finds texts by patterns, and ends a pattern that takes for ever', async () => {
    const one = reader({ matchMs: 1500 })
    // The deadline includes the start of the thread.
    await one.read(text('first'), never)
    expect(await one.matching(['http://a/x', 'http://a/y'], ['x$', '\\-'], never)).toEqual([
      'http://a/x',
    ])
    expect(await failure(one.matching(victim, catastrophe, never))).toEqual([
      'insert_failed',
      'Matching the patterns took longer than 1500 ms',
    ])
    expect((await one.read(text('next'), never)).content).toBe('next')
  })

  test('does not keep those waiting who went away', async () => {
    const one = reader()
    const busy = one.read(text('first'), never)
    const controller = new AbortController()
    const waiting = failure(one.read(text('waits'), controller.signal))
    const next = one.read(text('next'), never)
    controller.abort(new AppError('cancelled', 'gone'))
    expect(await waiting).toEqual(['cancelled', 'gone'])
    expect((await busy).content).toBe('first')
    expect((await next).content).toBe('next')
  })

  test('stops work without a waiting client', async () => {
    const one = reader({ matchMs: 60_000 })
    const controller = new AbortController()
    const work = failure(one.matching(victim, catastrophe, controller.signal))
    controller.abort(new AppError('cancelled', 'gone'))
    expect(await work).toEqual(['cancelled', 'gone'])
    expect((await one.read(text('next'), never)).content).toBe('next')
  })

  test('has a queue with an end', async () => {
    const one = reader({ processes: { ...processes, queueMax: 1 } })
    // The file system decides which of them reaches the queue first.
    const both = [one.read(text('first'), never), one.read(text('second'), never)]
    const told = await Promise.allSettled(both)
    expect(told.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))).toMatchObject([
      {
        code: 'too_busy',
        message: 'More than 1 files are waiting to be read; try again later',
      },
    ])
  })

  test('of another request does not wait for a document that hangs', async () => {
    const one = reader({ matchMs: 60_000 })
    const gone = new AbortController()
    const hanging = failure(one.forRequest().matching(victim, catastrophe, gone.signal))
    expect((await one.forRequest().read(text('small'), never)).content).toBe('small')
    gone.abort(new AppError('cancelled', 'gone'))
    await hanging
  })

  test('of another request does not wait for hundreds of the first, queued before', async () => {
    const one = reader({ processes: { ...processes, entryUrl: SLOW_READER } })
    const many = one.forRequest()
    const done: string[] = []
    const read = async (from: ReturnType<typeof one.forRequest>, name: string) => {
      await from.read(text(name), never)
      done.push(name)
    }
    const work = Array.from({ length: 300 }, (_, index) => read(many, `first ${index}`))
    const others = [1, 2, 3, 4].map((index) => read(one.forRequest(), `other ${index}`))
    await Promise.all(others)
    expect(done.length).toBeLessThan(304)
    await Promise.all(work)
    expect(done).toHaveLength(304)
  })

  test('that is closed gives no answer', async () => {
    const one = reader()
    const work = failure(one.matching(victim, catastrophe, never))
    await one.close()
    expect((await work)[0]).toBe('shutting_down')
    expect((await failure(one.read(text('late'), never)))[0]).toBe('shutting_down')
  })
})
