/**
 * The real program and a real server: the examples in docs/cli.md, and what only real processes
 * show.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerProcess, startServer } from '../../../scripts/server-process.ts'
import { drawnPdf, line } from '../../reading/drawn-pdf.ts'

const ROOT = join(import.meta.dir, '../../..')
const PROGRAM = join(ROOT, 'src/eider.ts')
const PASSWORD = 'correct horse'

/** A server with OpenAI's API that reads the same text from every picture. */
let picturesRead = 0
const ocrModel = Bun.serve({
  port: 0,
  fetch: () => {
    picturesRead += 1
    const message = { role: 'assistant', content: 'Signed by Ada' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    return Response.json({ id: '1', object: 'chat.completion', created: 1, choices })
  },
})

let folder: string
let server: ServerProcess
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'eider-cli-'))
  mkdirSync(join(folder, 'docs'))
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'docs/backup.md'), '# Backup\n\nRestore a backup with one command.\n')
  writeFileSync(join(folder, 'docs/tea.md'), '# Tea\n\nGreen tea needs 70 degrees.\n')
  writeFileSync(join(folder, 'docs/.hidden.md'), 'hidden')
  writeFileSync(join(folder, 'docs/empty.md'), '')
  writeFileSync(join(folder, 'docs/logo.png'), 'no text')
  writeFileSync(join(folder, 'README.md'), '# Read me\n\nAll about tea.\n')
  const script = `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`
  writeFileSync(join(folder, 'bin/eider'), script, { mode: 0o755 })
  writeFileSync(join(folder, 'bin/git'), '#!/bin/sh\necho "abc123 a commit"\n', { mode: 0o755 })
  server = await startServer({
    dataDirectory: join(folder, 'data'),
    environment: {
      EIDER_USERNAME: 'ann',
      EIDER_PASSWORD: PASSWORD,
      EIDER_OCR_MODEL: 'sees',
      EIDER_OCR_BASE_URL: `http://127.0.0.1:${ocrModel.port}/v1`,
      EIDER_OCR_API_KEY: 'k',
      EIDER_NETWORK_ALLOW: '127.0.0.1',
      EIDER_MODEL_PRICES: JSON.stringify({ sees: { input: 10, output: 30 } }),
    },
  })
})
afterAll(async () => {
  await server.stop()
  await ocrModel.stop(true)
  rmSync(folder, { recursive: true, force: true })
})

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(stream).text()
}

function environment(): Record<string, string | undefined> {
  const login = `ann:${encodeURIComponent(PASSWORD)}@`
  return {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    HOME: folder,
    EIDER_URL: server.baseUrl.replace('http://', `http://${login}`),
  }
}

/** Runs the line like a shell, in the folder of the example's reader. */
async function shell(line: string, overrides: Record<string, string> = {}): Promise<Ended> {
  const child = Bun.spawn(['sh', '-c', line], {
    cwd: folder,
    env: { ...environment(), ...overrides },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
  return { code: await child.exited, out, err }
}

test('the examples of docs/cli.md run, in their order', async () => {
  const page = await Bun.file(join(ROOT, 'docs/cli.md')).text()
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) => block)
  const lines = blocks.flatMap((block) => block.trim().split('\n'))
  expect(lines.length).toBeGreaterThan(12)
  const shown: string[] = []
  for (const line of lines) {
    const { code, out, err } = await shell(line)
    expect([line, code, err]).toEqual([line, 0, expect.not.stringContaining('eider:')])
    shown.push(`${out}${err}`)
  }
  const all = shown.join('\n')
  expect(all).toContain('Created the knowledge base mindsdb.docs\nleft out docs/')
  expect(all).toContain('3 files stored, 3 documents')
  expect(all).toContain('left out docs/.hidden.md: hidden; --all includes it')
  expect(all).toContain('left out docs/logo.png: no text in this format; --all includes it')
  expect(all).toContain('docs/backup.md')
  expect(all).toContain('[1] mindsdb.docs docs/backup.md')
  expect(all).toContain('Job 1 done: 5 rows')
  expect(all).toContain('Created mindsdb.docs_again: 3 documents')
  expect(readFileSync(join(folder, 'chunks.csv'), 'utf8')).toStartWith('id,chunk_content\r\n')
}, 180_000)

test('npm links a program that needs no Bun on the PATH, and ends as Eider does', async () => {
  const node = Bun.which('node')
  if (node === null) throw new Error('Node is needed')
  const launcher = `"${node}" "${join(ROOT, 'scripts/eider.mjs')}"`
  const bare = { PATH: '/usr/bin:/bin' }
  expect(await shell(`${launcher} sql --csv "SELECT 7 AS n"`, bare)).toMatchObject({
    code: 0,
    out: 'n\r\n7\r\n',
  })
  expect(await shell(`${launcher} bogus`, bare)).toMatchObject({ code: 2, out: '' })
})

test('what did not change is not sent, what changed is, what is gone goes', async () => {
  const ingest = 'eider ingest kept docs --remove-vanished --json'
  const first = JSON.parse((await shell(ingest)).out)
  expect(first).toMatchObject({ stored: 2, unchanged: 0, removed: 0, failed: [], skipped: 3 })
  expect(first.left_out).toContainEqual({ path: 'docs/empty.md', reason: 'empty' })
  writeFileSync(join(folder, 'docs/tea.md'), '# Tea\n\nBlack tea needs 95 degrees.\n')
  writeFileSync(join(folder, 'docs/new.txt'), 'new words')
  unlinkSync(join(folder, 'docs/backup.md'))
  expect(JSON.parse((await shell(ingest)).out)).toMatchObject({
    stored: 2,
    unchanged: 0,
    removed: 1,
  })
  expect(JSON.parse((await shell(ingest)).out)).toMatchObject({ stored: 0, unchanged: 2 })
  const { out } = await shell('eider sql --ndjson "SELECT DISTINCT id FROM kept ORDER BY id"')
  expect(out).toBe('{"id":"docs/new.txt"}\n{"id":"docs/tea.md"}\n')
})

test('what is written without a pause is followed too', async () => {
  const watched = join(folder, 'busy')
  mkdirSync(watched)
  const child = Bun.spawn(['sh', '-c', 'exec eider ingest busy busy --watch'], {
    cwd: folder,
    env: environment(),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  let said = ''
  const reading = (async () => {
    for await (const bytes of child.stderr) said += new TextDecoder().decode(bytes)
  })()
  const until = async (text: string, between: () => void) => {
    while (!said.includes(text)) {
      if (child.exitCode !== null) throw new Error(said)
      between()
      await Bun.sleep(20)
    }
  }
  let count = 0
  try {
    await until('Watching', () => {})
    await until('1 file stored', () => {
      count += 1
      writeFileSync(join(watched, 'log.txt'), `line ${count}`)
    })
  } finally {
    child.kill('SIGINT')
    await reading
  }
  expect(await child.exited).toBe(0)
})

test('a file that fails is named, stops no other, and the exit code tells it', async () => {
  writeFileSync(join(folder, 'broken.pdf'), '%PDF-1.7 nothing')
  const { code, out, err } = await shell('eider ingest kept README.md broken.pdf')
  expect([code, out]).toEqual([1, ''])
  expect(err).toContain('1 file stored')
  expect(err).toContain('failed broken.pdf: ')
})

test('scans are read only where their cost was accepted', async () => {
  const scan = 'q 500 0 0 500 50 50 cm /Im1 Do Q'
  const pages = [scan, line('The minutes of the meeting', 72, 700), scan]
  writeFileSync(join(folder, 'minutes.pdf'), drawnPdf({ pages }))
  const cost =
    'minutes.pdf: 2 of 3 pages contain no text. sees can read them, for about 4,600 tokens'
  const unasked = await shell('eider ingest scans minutes.pdf')
  expect([unasked.code, unasked.err]).toEqual([1, expect.stringContaining(cost)])
  expect(unasked.err).toContain('Run it again with --ocr, or with --no-ocr')
  expect(unasked.err).not.toContain('ocr=')
  expect(picturesRead).toBe(0)
  expect((await shell('eider ingest scans minutes.pdf --no-ocr --replace')).code).toBe(0)
  expect(picturesRead).toBe(0)
  expect((await shell('eider ingest scans minutes.pdf --ocr --replace')).code).toBe(0)
  expect(picturesRead).toBe(2)
})

test('failures say what to do, in JSON where that is asked for, and never a secret', async () => {
  const failures = [
    ['eider sql "SELECT * FORM x"', 1, 'syntax error'],
    ['eider search nothing words', 1, 'nothing'],
    ['eider ask nobody hello', 1, 'There is no agent nobody in mindsdb: '],
    ['eider ask kept hello', 1, 'kept is a knowledge base, not an agent'],
    ['eider jobs sow 1', 2, 'did you mean show?'],
    ['eider serach x', 2, 'did you mean search?'],
    ['eider sql --cvs "SELECT 1"', 2, 'did you mean --csv?'],
    ['eider ingest kept nowhere', 1, 'nowhere: there is no such file or folder'],
    ['eider sql --parquet -o no/such/folder.parquet "SELECT 1"', 1, 'cannot be written'],
  ] as const
  for (const [line, code, words] of failures) {
    const ended = await shell(line)
    expect([line, ended.code, ended.out, ended.err]).toEqual([
      line,
      code,
      '',
      expect.stringContaining(words),
    ])
    expect(ended.err).not.toContain(PASSWORD)
  }
  const { err } = await shell('eider search nothing words --json')
  expect(JSON.parse(err)).toMatchObject({ code: 'knowledge_base_not_found', status: 404 })
  const away = await shell('eider status', { EIDER_URL: 'http://ann:hidden@127.0.0.1:9' })
  expect([away.code, away.err]).toEqual([1, expect.stringContaining('start it with')])
  expect(away.err).not.toContain('hidden')
  const wrong = await shell('eider backups', { EIDER_URL: server.baseUrl })
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('Set EIDER_API_KEY')])
})

test('an answer numbers its sources, and shows no ids of chunks', async () => {
  // Other tests change the files of docs.
  writeFileSync(join(folder, 'green-tea.md'), '# Tea\n\nGreen tea needs 70 degrees.\n')
  await shell('eider ingest answers green-tea.md')
  await shell(
    "eider sql \"CREATE AGENT tea_helper USING data = {'knowledge_bases': ['mindsdb.answers']}\"",
  )
  const { code, out } = await shell('eider ask tea_helper "How hot is water for green tea?"')
  expect([code, out]).toEqual([0, expect.stringMatching(/70 degrees[\s\S]*\[1\]\n\n\[1\] mindsdb/)])
  expect(out).not.toContain('1of1')
  const { out: count } = await shell('eider ask tea_helper "How many documents are there?"')
  expect(count).toContain('1 row of: SELECT count')
})

test('a reader that leaves is not a failure, and large results are not held', async () => {
  const line = 'eider sql --csv "SELECT i, repeat(\'x\', 100) FROM range(3000000) t(i)" | head -2'
  const { code, out, err } = await shell(`${line}; echo done`)
  expect([code, out.split('\r\n')[1]?.slice(0, 4), err]).toEqual([0, '0,xx', ''])
})

test('Ctrl-C ends the statement, here and at the server', async () => {
  const child = Bun.spawn(
    [join(folder, 'bin/eider'), 'sql', 'SELECT count(*) FROM range(1000000000000)'],
    {
      cwd: folder,
      env: environment(),
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  // The statement is running once the server says so.
  for (;;) {
    const { out } = await shell('eider status --json')
    if (JSON.parse(out).statements.running > 0) break
  }
  child.kill('SIGINT')
  expect(await child.exited).toBe(130)
  expect(await textOf(child.stderr)).toBe('Interrupted\n')
  for (;;) {
    const { out } = await shell('eider status --json')
    if (JSON.parse(out).statements.running === 0) break
  }
})

test('--watch follows a folder until it is interrupted', async () => {
  const child = Bun.spawn(
    [join(folder, 'bin/eider'), 'ingest', 'watched', 'docs', '--watch', '--json'],
    {
      cwd: folder,
      env: environment(),
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  const passes = lines(child.stdout)
  expect(JSON.parse((await passes.next()).value ?? '')).toMatchObject({ stored: 2 })
  const said = lines(child.stderr)
  expect((await said.next()).value).toContain('Watching')
  writeFileSync(join(folder, 'docs/later.md'), 'later words')
  expect(JSON.parse((await passes.next()).value ?? '')).toMatchObject({ stored: 1, removed: 0 })
  unlinkSync(join(folder, 'docs/later.md'))
  expect(JSON.parse((await passes.next()).value ?? '')).toMatchObject({ stored: 0, removed: 1 })
  child.kill('SIGINT')
  expect(await child.exited).toBe(0)
})

test('results that cannot be written are reported without a stack trace', async () => {
  const child = Bun.spawn([process.execPath, PROGRAM, '--version'], {
    stdio: ['ignore', Bun.file('/dev/full'), 'pipe'],
  })
  expect(await new Response(child.stderr).text()).toMatch(
    /^eider: Results cannot be written: .*\n$/,
  )
  expect(await child.exited).toBe(1)
})

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of stream) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    yield* parts
  }
}
