import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ReadDocument } from '../../src/core/domain/ports/reading-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import {
  ReaderProcesses,
  type ReaderProcessesOptions,
  readerProcessesOptions,
} from '../../src/reading/processes/reader-processes.ts'

const never = new AbortController().signal
const DOOMED = new URL('doomed-reader.ts', import.meta.url).href

const folder = await mkdtemp(join(tmpdir(), 'eider-processes-'))
const pools: ReaderProcesses[] = []
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close()))
  await rm(folder, { recursive: true, force: true })
})

function reading(changes: Partial<ReaderProcessesOptions> = {}) {
  const options = readerProcessesOptions({ folder, memoryBytes: 400e6, environment: {} })
  const pool = new ReaderProcesses({ ...options, ...changes })
  pools.push(pool)
  const files = pool.inTurns(Symbol('test'))
  return {
    pool,
    read: (name: string, content = 'text', signal = never): Promise<readonly ReadDocument[]> => {
      const bytes = new TextEncoder().encode(content)
      const sent = { name, bytes, contentType: null, url: null, options: {} }
      return files.readFile(sent, ({ documents }) => Array.fromAsync(documents), signal)
    },
  }
}

async function failure(work: Promise<unknown>): Promise<readonly [string, string]> {
  const error = await work.catch((cause: unknown) => cause)
  if (error instanceof AppError) return [error.code, error.message]
  throw new Error(`expected an AppError, found ${error}`)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Maps what the process does to the message that the caller gets. */
const FATES: readonly (readonly [deed: string, said: string])[] = [
  ['swell', 'it took more than 381 MiB of memory, the limit (EIDER_READING_MEMORY); split the'],
  ['crash', 'its reader crashed (SIGSEGV); the file is damaged or made to do harm: save it again'],
  ['exit', 'its reader crashed (exit code 3)'],
  ['nonsense', 'its reader gave an invalid answer'],
  ['escape', 'its reader gave an invalid answer'],
  ['broken', 'its reader gave an invalid answer'],
]

describe('a reader process', () => {
  const { read } = reading({ entryUrl: DOOMED })

  for (const [deed, said] of FATES) {
    test(`that is made to ${deed} affects only one file`, async () => {
      const [code, message] = await failure(read(deed))
      expect(code).toBe('file_unreadable')
      expect(message).toStartWith('The file could not be read: ')
      expect(message).toContain(said)
      expect(await readdir(folder)).toEqual([])
    })
  }

  test('sees nothing of the environment, and is reused', async () => {
    const [first] = await read('environment')
    const [second] = await read('environment')
    expect(first?.columns).toEqual(second?.columns)
    const names: readonly string[] = JSON.parse(first?.content ?? '')
    expect(names.filter((name) => /EIDER|KEY|TOKEN|HOME|PATH/.test(name))).toEqual([])
  })

  test('that hangs is ended', async () => {
    const { read: impatient } = reading({ entryUrl: DOOMED, readMs: 1000 })
    const message = 'The file could not be read: it took more than 1 s of processor time, the limit'
    expect((await failure(impatient('hang')))[1]).toStartWith(message)
  })

  test('that floods the disk is ended', async () => {
    const { read: narrow } = reading({ entryUrl: DOOMED, outputBytes: 2e6 })
    const [code, message] = await failure(narrow('flood'))
    expect(code).toBe('file_unreadable')
    expect(message).toStartWith('The file could not be read: ')
    expect(message).toContain('2 M')
    expect(await readdir(folder)).toEqual([])
  })

  test('whose client has gone is ended', async () => {
    const gone = new AbortController()
    const hanging = failure(read('hang', 'text', gone.signal))
    gone.abort(new AppError('cancelled', 'gone'))
    expect(await hanging).toEqual(['cancelled', 'gone'])
    expect(await readdir(folder)).toEqual([])
  })

  test('ends when there is no work for it', async () => {
    const { read: lazy } = reading({ entryUrl: DOOMED, idleMs: 1, processesMax: 1 })
    const [found] = await lazy('environment')
    const pid = Number(found?.columns.pid)
    while (isAlive(pid)) await Bun.sleep(1)
    // The next file is read by another process.
    expect((await lazy('environment'))[0]?.columns.pid).not.toBe(pid)
  })
})

describe('documents', () => {
  test('of any length come as they were written', async () => {
    const { read } = reading()
    const long = 'ä😀\n"\\'.repeat(300_000)
    const [document] = await read('a.txt', long)
    expect(document?.content === long).toBe(true)
    expect(document).toMatchObject({ id: null, title: null, syntax: 'text', parts: null })
    const [small] = await read('a.md', '# Title\n\nText')
    expect(small).toMatchObject({ content: '# Title\n\nText', title: 'Title', syntax: 'markdown' })
  })

  test('are not there where a file is empty or no text', async () => {
    const { read } = reading()
    expect(await failure(read('a.txt', ''))).toEqual(['file_unreadable', 'The file is empty'])
    const [, message] = await failure(read('a.txt', 'a\0b'))
    expect(message).toStartWith("The file's content is binary")
    expect(existsSync(folder)).toBe(true)
  })
})
