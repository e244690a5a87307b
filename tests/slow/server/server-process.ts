import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MEMORY_ENVIRONMENT } from '../../../src/wiring/settings/settings.ts'

const MAIN = join(import.meta.dir, '../../../src/main.ts')
const READY_MS_MAX = 60_000

export interface ServerProcess {
  readonly url: string
  readonly pid: number
  readonly exited: Promise<number>
  /** Returns what it has written to stdout so far. */
  output(): string
  /** The whole stderr, once the process has ended. */
  readonly stderr: Promise<string>
  send(method: string, path: string, body?: unknown, headers?: HeadersInit): Promise<Response>
  kill(signal: NodeJS.Signals): void
}

/** The result of a start that ended by itself: exit code and stderr. */
export interface FailedStart {
  readonly exitCode: number
  readonly stderr: string
}

/** Limits files to about ten megabytes, as on a disk that becomes full. */
const SMALL_DISK = ['sh', '-c', 'ulimit -f 20000; trap "" XFSZ; exec "$@"', 'sh']

const NO_HANGUP = ['sh', '-c', 'trap "" HUP; exec "$@"', 'sh']

function spawn(
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  main: string = MAIN,
) {
  const { SMALL_DISK: isSmall, NOHUP: isLeft } = environment
  return Bun.spawn(
    [...(isSmall ? SMALL_DISK : []), ...(isLeft ? NO_HANGUP : []), process.execPath, main, ...args],
    {
      env: {
        ...process.env,
        ...MEMORY_ENVIRONMENT,
        UV_THREADPOOL_SIZE: '16',
        EIDER_PORT: '0',
        ...environment,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
}

/**
 * Starts the server's process without a supervisor on a free port, and waits until it answers. With
 * `SMALL_DISK`, its disk soon becomes full.
 */
export function startServer(
  environment: Readonly<Record<string, string>>,
  main?: string,
): Promise<ServerProcess> {
  return started(environment, ['--no-supervisor'], main)
}

/** Starts the program as a user does, with its supervisor. `NOHUP` starts it like `nohup`. */
export function startSupervised(
  environment: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  return started(environment, [])
}

async function started(
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
  main?: string,
): Promise<ServerProcess> {
  const child = spawn(environment, args, main)
  const output: string[] = []
  const stderr = new Response(child.stderr).text()
  const url = await urlOf(child.stdout, output)
  if (url === undefined) {
    child.kill('SIGKILL')
    const how = `exit code ${await child.exited}, signal ${child.signalCode}`
    throw new Error(`The server did not start: ${how}\n${output.join('')}\n${await stderr}`)
  }
  return {
    url,
    pid: child.pid,
    exited: child.exited,
    output: () => output.join(''),
    stderr,
    send: (method, path, body, headers) => {
      return fetch(`${url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    },
    kill: (signal) => child.kill(signal),
  }
}

/** Returns the address that the program prints when it is ready, or undefined if it ended. */
async function urlOf(
  output: ReadableStream<Uint8Array>,
  read: string[],
): Promise<string | undefined> {
  const deadline = Date.now() + READY_MS_MAX
  const reader = output.getReader()
  while (Date.now() < deadline) {
    const { done, value } = await reader.read()
    if (done) break
    read.push(new TextDecoder().decode(value))
    const url = /https?:\/\/[\w.:[\]]+/.exec(read.join(''))?.[0]
    if (url !== undefined) {
      drain(reader, read)
      return url
    }
  }
  return undefined
}

/** Resolves when the server runs a statement or `request` has already ended. */
export async function untilRunning(
  server: ServerProcess,
  request: Promise<unknown>,
): Promise<void> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  request.then(end, end)
  while (!isOver) {
    const answer = await (await server.send('GET', '/api/status')).json()
    if ((answer as { statements: { running: number } }).statements.running > 0) return
    await Bun.sleep(5)
  }
}

/** A full pipe would stop the server. */
async function drain(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  read: string[],
): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    read.push(new TextDecoder().decode(value))
  }
}

/** Starts the program in a situation in which it must refuse to run. */
export async function failingStart(
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<FailedStart> {
  const child = spawn(environment, args)
  const [exitCode, stderr] = await Promise.all([child.exited, new Response(child.stderr).text()])
  return { exitCode, stderr }
}

/** Runs the work with a temporary folder that is removed afterwards. */
export async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'eider-server-'))
  try {
    await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
