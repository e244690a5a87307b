/**
 * The program as one file, built once for the tests, and started as on a machine that has nothing
 * else.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../../..')
const READY_MS_MAX = 150_000

export interface BuiltFile {
  readonly path: string
  /** Creates an empty folder. */
  folder(): Promise<string>
  remove(): Promise<void>
}

export async function builtFile(): Promise<BuiltFile> {
  const root = await mkdtemp(join(tmpdir(), 'eider-built-'))
  const build = [process.execPath, join(ROOT, 'scripts/build/main.ts'), '--fast', '--out', root]
  const { success, stderr } = Bun.spawnSync(build, { cwd: ROOT })
  if (!success) throw new Error(stderr.toString())
  return {
    path: join(root, `eider-${process.platform}-${process.arch}`),
    folder: () => mkdtemp(join(root, 'empty-')),
    remove: () => rm(root, { recursive: true, force: true }),
  }
}

export interface Place {
  readonly folder: string
  /** A prefix for the command, such as `setpriv` and its options. */
  readonly within?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Its environment has only HOME, PATH and the given settings. */
export function startFile(
  file: BuiltFile,
  { folder, within = [], environment = {} }: Place,
  ...args: string[]
) {
  return Bun.spawn([...within, file.path, ...args], {
    cwd: folder,
    env: { HOME: folder, PATH: '/usr/bin:/bin', ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
}

export interface Ended {
  readonly code: number
  readonly output: string
  readonly complaint: string
}

/** Runs it to its end. */
export async function runFile(file: BuiltFile, place: Place, ...args: string[]): Promise<Ended> {
  const child = startFile(file, place, ...args)
  const [output, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, output, complaint }
}

export interface BuiltServer {
  readonly url: string
  sql(query: string): Promise<unknown>
  stop(): Promise<number>
}

/** Starts it, by default as a server, and waits for the line with its address. */
export async function serveFile(
  file: BuiltFile,
  place: Place,
  ...args: string[]
): Promise<BuiltServer> {
  const environment = { EIDER_PORT: '0', ...place.environment }
  const child = startFile(file, { ...place, environment }, ...args)
  const url = await addressIn(child.stdout)
  if (url === null) throw new Error(await new Response(child.stderr).text())
  return {
    url,
    sql: async (query) => {
      const answer = await fetch(`${url}/api/sql/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      })
      const { data, error_message } = (await answer.json()) as Record<string, unknown>
      return data ?? error_message ?? null
    },
    stop: () => {
      child.kill('SIGTERM')
      return child.exited
    },
  }
}

async function addressIn(output: ReadableStream<Uint8Array>): Promise<string | null> {
  const deadline = Date.now() + READY_MS_MAX
  let read = ''
  const reader = output.getReader()
  while (Date.now() < deadline) {
    const { done, value } = await reader.read()
    if (done) return null
    read += new TextDecoder().decode(value)
    const found = /http:\/\/[\w.:[\]]+/.exec(read)
    if (found === null) continue
    // An unread pipe would block the server.
    void (async () => {
      while (!(await reader.read()).done);
    })()
    return found[0]
  }
  return null
}
