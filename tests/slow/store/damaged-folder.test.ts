import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TemporaryFolder, temporaryFolder } from '../../support/store-fixture.ts'

const PROGRAM = join(import.meta.dir, 'damage-program.ts')

let folder: TemporaryFolder
let whole = ''

async function run(command: string, directory: string, env: Record<string, string> = {}) {
  const child = Bun.spawn([process.execPath, PROGRAM, command, directory], {
    env: { ...Bun.env, UV_THREADPOOL_SIZE: '16', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [printed, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  await child.exited
  return { printed, errors, signal: child.signalCode }
}

beforeAll(async () => {
  folder = temporaryFolder()
  whole = join(folder.path, 'whole')
  const { signal, errors } = await run('fill', whole)
  if (signal !== 'SIGKILL') throw new Error(errors)
}, 180_000)

afterAll(() => folder[Symbol.dispose]())

/** Returns every file with a hash of its bytes, ignoring times. */
function filesIn(directory: string): Readonly<Record<string, string>> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
  return Object.fromEntries(
    files.map((file) => {
      const path = join(file.parentPath, file.name)
      const bytes = file.isFile() ? readFileSync(path) : 'folder'
      return [path, createHash('sha256').update(bytes).digest('hex')]
    }),
  )
}

interface Row {
  /** The damage done to the folder. */
  readonly damage: (path: (name: string) => string) => void
  readonly opens?: string
  /** Parts of the expected message. */
  readonly refused?: readonly string[]
}

const DATA = 'eider-data.duckdb'
const LOG = `${DATA}.wal`
const MARK = 'eider-log.mark'
const ALL = 'in the file, log 1, log 2, log 3, log 4'
const RESTORE = ['eider restore', 'Nothing was changed']
const WAYS_OUT = [...RESTORE, 'eider salvage']

function edit(path: string, change: (bytes: Buffer) => Uint8Array): void {
  writeFileSync(path, change(readFileSync(path)))
}

/** Inverts bits, so that every byte changes. */
function flip(bytes: Buffer, start: number, count = 8): Buffer {
  for (let at = start; at < start + count; at += 1) bytes[at] = (bytes[at] ?? 0) ^ 0xa5
  return bytes
}

const random = (size: number) => crypto.getRandomValues(new Uint8Array(size))

const ROWS: Readonly<Record<string, Row>> = {
  'nothing, after kill -9': { damage: () => {}, opens: ALL },
  'log missing': {
    damage: (path) => rmSync(path(LOG)),
    refused: ['with 4 acknowledged writes is missing', 'accept-loss', ...WAYS_OUT],
  },
  'log empty': {
    damage: (path) => truncateSync(path(LOG), 0),
    refused: ['with 4 acknowledged writes is empty', 'accept-loss', ...WAYS_OUT],
  },
  'log cut by one byte': {
    damage: (path) => edit(path(LOG), (bytes) => bytes.subarray(0, -1)),
    refused: ['is cut: ', 'bytes are left', ...WAYS_OUT],
  },
  'log cut in the middle': {
    damage: (path) => edit(path(LOG), (bytes) => bytes.subarray(0, bytes.length / 2)),
    refused: ['is cut: ', ...WAYS_OUT],
  },
  'log of random bytes': {
    damage: (path) => edit(path(LOG), (bytes) => random(bytes.length)),
    refused: ['is damaged', ...WAYS_OUT],
  },
  'log with a torn record at its end, as after a power cut': {
    damage: (path) => edit(path(LOG), (bytes) => Buffer.concat([bytes, bytes.subarray(8, 40)])),
    opens: ALL,
  },
  'log with other bytes in a record': {
    damage: (path) => edit(path(LOG), (bytes) => flip(bytes, bytes.length - 12)),
    refused: ['Corrupt WAL file', ...WAYS_OUT],
  },
  'log and mark missing, as in a copy of the data file alone': {
    damage: (path) => {
      rmSync(path(LOG))
      rmSync(path(MARK))
    },
    refused: ['while Eider was running', 'accept-loss', ...WAYS_OUT],
  },
  'log missing and mark unwritten': {
    damage: (path) => {
      rmSync(path(LOG))
      truncateSync(path(MARK), 0)
    },
    refused: ['while Eider was running', 'accept-loss', ...WAYS_OUT],
  },
  'mark missing': { damage: (path) => rmSync(path(MARK)), opens: ALL },
  'mark empty': { damage: (path) => truncateSync(path(MARK), 0), opens: ALL },
  'mark of zeros': { damage: (path) => writeFileSync(path(MARK), Buffer.alloc(36)), opens: ALL },
  'mark of random bytes': { damage: (path) => writeFileSync(path(MARK), random(36)), opens: ALL },
  'data file missing': {
    damage: (path) => rmSync(path(DATA)),
    refused: ['is missing', ...RESTORE],
  },
  'data file missing, with its log alone': {
    damage: (path) => {
      rmSync(path(DATA))
      rmSync(path(MARK))
    },
    refused: ['is missing', ...RESTORE],
  },
  'data file empty': {
    damage: (path) => truncateSync(path(DATA), 0),
    refused: ['is cut', ...RESTORE],
  },
  'data file cut within its headers': {
    damage: (path) => truncateSync(path(DATA), 5000),
    refused: ['is cut', ...RESTORE],
  },
  'data file cut in the middle': {
    damage: (path) => edit(path(DATA), (bytes) => bytes.subarray(0, bytes.length / 2)),
    refused: ['is damaged', ...WAYS_OUT],
  },
  'data file of zeros': {
    damage: (path) => edit(path(DATA), (bytes) => bytes.fill(0)),
    refused: ['older than its last acknowledged write', ...WAYS_OUT],
  },
  'data file of random bytes, no mark': {
    damage: (path) => {
      rmSync(path(MARK))
      edit(path(DATA), (bytes) => random(bytes.length))
    },
    refused: ['not a valid DuckDB database file', ...WAYS_OUT],
  },
  'wrong magic bytes': {
    damage: (path) => edit(path(DATA), (bytes) => flip(bytes, 8, 4)),
    refused: ['not a valid DuckDB database file', ...WAYS_OUT],
  },
  'another version in the main header': {
    damage: (path) => edit(path(DATA), (bytes) => flip(bytes, 12)),
    refused: ['Corrupt database file', ...WAYS_OUT],
  },
  'other bytes in the newest header': {
    damage: (path) => edit(path(DATA), (bytes) => flip(bytes, 4096 + 16, 4)),
    refused: ['Corrupt database file', ...WAYS_OUT],
  },
  'every block damaged': {
    damage: (path) =>
      edit(path(DATA), (bytes) => {
        for (let at = 12_288; at < bytes.length; at += 262_144) flip(bytes, at + 100)
        return bytes
      }),
    refused: ['is damaged', ...WAYS_OUT],
  },
  'an older data file beside the mark': {
    damage: (path) =>
      edit(path(DATA), (bytes) => {
        bytes.fill(0, 4096, 12_288)
        return bytes
      }),
    refused: ['older than its last acknowledged write', 'accept-loss', ...WAYS_OUT],
  },
  'a folder instead of the data file': {
    damage: (path) => {
      rmSync(path(DATA))
      mkdirSync(path(DATA))
    },
    refused: ['cannot be used'],
  },
  'key file missing': {
    damage: (path) => rmSync(path('eider.key')),
    refused: ['eider.key is missing', 'put it back', 'Nothing was changed'],
  },
  'key file cut': {
    damage: (path) => truncateSync(path('eider.key'), 10),
    refused: ['eider.key is damaged', 'from a backup'],
  },
  'key file of another folder': {
    damage: (path) => writeFileSync(path('eider.key'), `${'ab'.repeat(32)}\n`),
    refused: ['The key file does not fit', 'from the backup'],
  },
}

for (const [name, { damage, opens, refused }] of Object.entries(ROWS)) {
  test(`${name}: ${opens === undefined ? 'refused, every file as it was' : 'opens'}`, async () => {
    const directory = join(folder.path, 'damaged')
    rmSync(directory, { recursive: true, force: true })
    cpSync(whole, directory, { recursive: true })
    damage((file) => join(directory, file))
    const before = filesIn(directory)
    const { printed, errors, signal } = await run('open', directory)
    expect({ signal, errors }).toEqual({ signal: null, errors: '' })
    if (opens !== undefined) return expect(printed).toBe(`opened: ${opens}`)
    expect(printed).toStartWith('refused: ')
    for (const part of refused ?? []) expect(printed).toContain(part)
    expect(filesIn(directory)).toEqual(before)
  }, 180_000)
}

test('the data file of a server that was stopped needs neither log nor mark', async () => {
  const directory = join(folder.path, 'stopped')
  cpSync(whole, directory, { recursive: true })
  expect((await run('open', directory)).printed).toBe(`opened: ${ALL}`)
  rmSync(join(directory, LOG), { force: true })
  rmSync(join(directory, MARK))
  expect((await run('open', directory)).printed).toBe(`opened: ${ALL}`)
}, 180_000)
