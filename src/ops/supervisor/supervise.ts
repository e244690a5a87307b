import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import {
  NO_RESTARTS,
  PLANNED_RESTART_CODE,
  RestartPolicy,
  type Restarts,
  type ServerExit,
} from './restart-policy.ts'

/** Messages to a server being replaced about its successor. */
export type SuccessorMessage = 'ready' | 'failed'

export interface ServerProcess {
  send(message: SuccessorMessage): void
  readonly exited: Promise<unknown>
  readonly exitCode: number | null
  /** A number, where the signal has no name. */
  readonly signalCode: NodeJS.Signals | number | null
  kill(signal: NodeJS.Signals): void
}

/** The end of a server, and when the next one starts. */
export interface Crash {
  readonly at: number
  readonly reason: string
  readonly isPlanned: boolean
  /** It served requests. */
  readonly wasReady: boolean
  readonly uptimeMs: number
  readonly delayMs: number
}

/**
 * Runs the server as a child, and again after a crash, until it ends normally or is stopped. Returns the exit code. This
 * process holds nothing and does nothing else: everything that could crash it is in the child.
 */
export async function supervise(given: {
  /**
   * Starts the server's process, which calls `onReady` once it takes requests, and `onReplace` when it has closed the data
   * folder and its successor may start.
   */
  readonly start: (
    restarts: Restarts,
    calls: { readonly onReady: () => void; readonly onReplace: () => void },
  ) => ServerProcess
  /** Called when the server ended and will restart. */
  readonly onCrash: (crash: Crash) => void
}): Promise<number> {
  const { start, onCrash } = given
  const policy = new RestartPolicy()
  const stop = new StopRequest()
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

/** A replaced server passes on what its clients asked last. Then it ends on its own, or is ended. */
const DISMISSED_MS = 35_000

function dismiss(server: ServerProcess | null, message: SuccessorMessage): void {
  if (server === null) return
  try {
    server.send(message)
  } catch {
    // It has ended.
  }
  setTimeout(() => server.kill('SIGKILL'), DISMISSED_MS).unref()
}

/** The signal sent to this program, passed on to the server if there is one. */
class StopRequest {
  readonly asked: Promise<void>
  #isAsked = false
  #server: ServerProcess | null = null

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.asked = promise
    for (const signal of stopSignals()) {
      process.on(signal, () => {
        this.#isAsked = true
        // In a Windows console the server also receives Ctrl-C, and a kill would not let it finish.
        // The supervisor itself handles a hang-up, and passes a stop on to the server.
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

/** The signals that ask for a stop. After `nohup`, closing the terminal does not. */
export function stopSignals(): readonly NodeJS.Signals[] {
  return isHangupIgnored() ? ['SIGTERM', 'SIGINT'] : ['SIGTERM', 'SIGINT', 'SIGHUP']
}

/** Whether this process was started with `nohup`; if the system does not say, a process without a terminal was. */
function isHangupIgnored(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    if (mask !== undefined) return (Number.parseInt(mask.slice(-1), 16) & 1) === 1
  } catch {
    // Not Linux.
  }
  return process.stdout.isTTY !== true
}

function reasonOf({ exitCode, signal }: ServerExit, isPlanned: boolean): string {
  if (isPlanned) return 'planned'
  if (signal === null) return `exit code ${exitCode}`
  return typeof signal === 'number' ? `signal ${signal}` : signal
}

/** As a shell would print it. */
function exitCodeOf({ exitCode, signal }: ServerExit): number {
  if (signal === null) return exitCode ?? 1
  return 128 + (typeof signal === 'number' ? signal : constants.signals[signal])
}
