/**
 * Starts a server as users do, for the demo, benchmarks and tests, which use it only over HTTP. If BUILT_FILE is set
 * in the environment, that built file is started instead, in an empty folder and with no other variables.
 */
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'

export interface ServerProcess {
  readonly baseUrl: string
  readonly pid: number
  /** The time from starting the process to the first answer that says it is ready. */
  readonly startMs: number
  /**
   * Sends SIGTERM and waits for the end. @throws Error for an exit code other than 0, or a timeout
   */
  stop(): Promise<void>
}

export interface ServerOptions {
  readonly dataDirectory: string
  readonly environment?: Readonly<Record<string, string>>
  /** The checkout whose server is started, by default this one. */
  readonly root?: string
  /** By default a free port. */
  readonly port?: number
}

const READY_MS_MAX = 60_000
const STOP_MS_MAX = 20_000
const POLL_MS = 10
const OUTPUT_LINES_MAX = 20
const OWN_ROOT = join(import.meta.dir, '..')

/** @throws Error with the server's last lines if it ends, or is not ready within a minute */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const port = options.port ?? (await freePort())
  const { command, cwd, inherited } = programOf(options)
  const startedAt = performance.now()
  // No supervisor, so that this process is the one whose memory is measured.
  const child = Bun.spawn([...command, '--no-supervisor'], {
    cwd,
    env: {
      ...inherited,
      EIDER_HOST: '127.0.0.1',
      EIDER_PORT: String(port),
      EIDER_DATA_DIR: options.dataDirectory,
      EIDER_LOG_LEVEL: 'warn',
      ...options.environment,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const lines: string[] = []
  void collectLines(child.stdout, lines)
  void collectLines(child.stderr, lines)
  const baseUrl = `http://127.0.0.1:${port}`
  try {
    await untilReady(`${baseUrl}/healthz`, () => child.exitCode ?? child.signalCode)
  } catch (error) {
    child.kill('SIGKILL')
    await child.exited
    throw new Error([messageOf(error), ...lines].join('\n  '))
  }
  const startMs = performance.now() - startedAt
  return { baseUrl, pid: child.pid, startMs, stop: () => stop(child, lines) }
}

function programOf({ root = OWN_ROOT }: ServerOptions) {
  const file = process.env.BUILT_FILE
  if (file === undefined) {
    const inherited = { ...inheritedEnvironment(), UV_THREADPOOL_SIZE: '16' }
    return { command: [process.execPath, join(root, 'src/main.ts')], cwd: root, inherited }
  }
  // All servers share one cache next to the file.
  const inherited = { HOME: dirname(file), PATH: process.env.PATH }
  return { command: [file, 'serve'], cwd: mkdtempSync(join(dirname(file), 'empty-')), inherited }
}

/** Stops the server after `work`, even if that fails. If both fail, both errors are shown. */
export async function whileRunning<T>(server: ServerProcess, work: () => Promise<T>): Promise<T> {
  let result: T
  try {
    result = await work()
  } catch (cause) {
    const stopped = await server.stop().then(() => '', messageOf)
    throw new Error([messageOf(cause), stopped].filter(Boolean).join('\n'), { cause })
  }
  await server.stop()
  return result
}

/** The variables of a user's shell, without Eider settings that are meant for another server. */
function inheritedEnvironment(): Record<string, string | undefined> {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('EIDER_'))
  return Object.fromEntries(entries)
}

export function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const probe = createServer().on('error', reject)
  probe.listen(0, '127.0.0.1', () => {
    const address = probe.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    probe.close(() => resolve(port))
  })
  return promise
}

async function collectLines(output: ReadableStream<Uint8Array>, lines: string[]): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of output) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    lines.splice(0, lines.length - OUTPUT_LINES_MAX)
  }
  if (rest !== '') lines.push(rest)
}

async function untilReady(url: string, ended: () => number | string | null): Promise<void> {
  const deadline = performance.now() + READY_MS_MAX
  while (performance.now() < deadline) {
    const how = ended()
    if (how !== null) throw new Error(`The server ended with ${how} before it was ready:`)
    const answer = await fetch(url, { signal: AbortSignal.timeout(1000) }).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return
    await Bun.sleep(POLL_MS)
  }
  throw new Error(`The server was not ready after ${READY_MS_MAX / 1000} s:`)
}

async function stop(child: Bun.Subprocess, lines: readonly string[]): Promise<void> {
  if (child.exitCode === null) child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await child.exited
  clearTimeout(timer)
  if (child.exitCode === 0) return
  const how = child.signalCode ?? child.exitCode
  throw new Error([`The server did not stop cleanly (${how}):`, ...lines].join('\n  '))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
