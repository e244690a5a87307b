import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import {
  NO_RESTARTS,
  PLANNED_RESTART_CODE,
  RestartPolicy,
  type Restarts,
  type ServerExit,
} from './restart-policy.ts'

/** Tells a server being replaced how its successor started. */
export type SuccessorMessage = 'ready' | 'failed'

export interface ServerProcess {
  send(message: SuccessorMessage): void
  readonly exited: Promise<unknown>
  readonly exitCode: number | null
  /** A number if the signal has no name. */
  readonly signalCode: NodeJS.Signals | number | null
  kill(signal: NodeJS.Signals): void
}

export interface Crash {
  readonly at: number
  readonly reason: string
  readonly isPlanned: boolean
  readonly wasReady: boolean
  readonly uptimeMs: number
  readonly delayMs: number
}

interface SupervisorOptions {
  /**
   * Starts the server process. It calls `onReady` once it accepts requests, and `onReplace` once it
   * has closed the data folder, so that its successor can start.
   */
  readonly start: (
    restarts: Restarts,
    calls: { readonly onReady: () => void; readonly onReplace: () => void },
  ) => ServerProcess
  readonly onCrash: (crash: Crash) => void
  /** How long the server may take to stop before it is killed, for example because it hangs. */
  readonly stopMs: number
  readonly onKill: () => void
}

/** Runs the server as a child process, so that only the child can crash. Returns the exit code. */
export async function supervise(given: SupervisorOptions): Promise<number> {
  const { start, onCrash } = given
  const policy = new RestartPolicy()
  const stop = new StopRequest(given)
  let restarts = NO_RESTARTS
  let predecessor: ServerProcess | null = null
  for (;;) {
    const startedAt = performance.now()
    let readyAt: number | null = null
    const replaced = Promise.withResolvers<true>()
    const before = predecessor
    const server = start(restarts, {
      onReady: () => {
        readyAt = performance.now()
        dismiss(before, 'ready')
      },
      onReplace: () => replaced.resolve(true),
    })
    stop.passTo(server)
    const isReplaced = await Promise.race([server.exited.then(() => false), replaced.promise])
    stop.passTo(null)
    if (readyAt === null) dismiss(before, 'failed')
    predecessor = isReplaced ? server : null
    const endedAt = performance.now()
    const exit: ServerExit = {
      exitCode: isReplaced ? PLANNED_RESTART_CODE : server.exitCode,
      signal: isReplaced ? null : server.signalCode,
      readyMs: readyAt === null ? null : endedAt - readyAt,
      isStopping: stop.isAsked,
    }
    const next = policy.afterExit(exit)
    if (next.kind === 'end') return exitCodeOf(exit)
    const { isPlanned, delayMs } = next
    const last = { at: Date.now(), reason: reasonOf(exit, isPlanned), isPlanned }
    restarts = { count: restarts.count + 1, last }
    onCrash({
      ...last,
      wasReady: readyAt !== null,
      uptimeMs: Math.round(endedAt - startedAt),
      delayMs,
    })
    if (delayMs > 0) await Promise.race([Bun.sleep(delayMs), stop.asked])
    if (stop.isAsked) {
      predecessor?.kill('SIGKILL')
      return 0
    }
  }
}

/** How long a replaced server may forward its clients' last requests before it is killed. */
const DISMISSED_MS = 35_000

function dismiss(server: ServerProcess | null, message: SuccessorMessage): void {
  if (server === null) return
  try {
    server.send(message)
  } catch {
    // The process has already ended.
  }
  setTimeout(() => server.kill('SIGKILL'), DISMISSED_MS).unref()
}

/** Remembers the stop signal sent to this program, and passes it on to the running server. */
class StopRequest {
  readonly asked: Promise<void>
  #isAsked = false
  #server: ServerProcess | null = null

  constructor({ stopMs, onKill }: SupervisorOptions) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.asked = promise
    const kill = () => {
      if (this.#server === null) return
      onKill()
      this.#server.kill('SIGKILL')
    }
    for (const signal of stopSignals()) {
      process.on(signal, () => {
        if (!this.#isAsked) setTimeout(kill, stopMs).unref()
        this.#isAsked = true
        // In a Windows console, the server receives Ctrl-C too, and killing it would not let it
        // finish. SIGHUP reaches only the supervisor, which passes it on as SIGTERM.
        const passed = signal === 'SIGHUP' ? 'SIGTERM' : signal
        if (process.platform !== 'win32') this.#server?.kill(passed)
        resolve()
      })
    }
  }

  get isAsked(): boolean {
    return this.#isAsked
  }

  passTo(server: ServerProcess | null): void {
    this.#server = server
  }
}

/** Under `nohup`, SIGHUP (closing the terminal) does not stop the server. */
export function stopSignals(): readonly NodeJS.Signals[] {
  return isHangupIgnored() ? ['SIGTERM', 'SIGINT'] : ['SIGTERM', 'SIGINT', 'SIGHUP']
}

/** Whether this process runs under `nohup`. If unknown, one without a terminal counts as such. */
function isHangupIgnored(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    if (mask !== undefined) return (Number.parseInt(mask.slice(-1), 16) & 1) === 1
  } catch {
    // The system is not Linux.
  }
  return process.stdout.isTTY !== true
}

function reasonOf({ exitCode, signal }: ServerExit, isPlanned: boolean): string {
  if (isPlanned) return 'planned'
  if (signal === null) return `exit code ${exitCode}`
  return typeof signal === 'number' ? `signal ${signal}` : signal
}

/** Returns the exit code that a shell would report. */
function exitCodeOf({ exitCode, signal }: ServerExit): number {
  if (signal === null) return exitCode ?? 1
  return 128 + (typeof signal === 'number' ? signal : constants.signals[signal])
}
