import { AGENT_LIMITS } from '../../core/domain/agents/agent-limits.ts'
import { AppError } from '../../core/errors.ts'
import { WorkerHost } from '../../core/runtime/worker-host.ts'
import type { ToWorker } from './worker-messages.ts'
import { type FromThread, parseFromThread, type ToThread } from './worker-messages.ts'

export interface SeatListener {
  message(data: unknown): void
  /** Called when the thread has ended; nothing follows. */
  stopped(error: AppError): void
}

export interface AgentSeat {
  /** Whether the thread was also answering other questions, which may have caused its end. */
  readonly wasShared: boolean
  listen(listener: SeatListener): void
  post(message: ToWorker): void
  /** Ends the question for its listener, and aborts its work in the thread. */
  leave(): void
  /** Ends the thread because of this question, and notifies the thread's other questions. */
  endThread(error: AppError): void
}

interface AgentThreadOptions {
  readonly url: string
  readonly onFree: () => void
}

/** Answers questions of one agent, several at once if necessary, since they wait for the model. */
export class AgentThread {
  readonly #options: AgentThreadOptions
  readonly #host: WorkerHost
  readonly #seats = new Map<number, Seat>()
  #agentId: number | null = null
  #runs = 0
  #isAlone = false
  #isRetired = false
  /** The pending ping; null if the last one was answered. */
  #ping: { ticks: number; readonly rss: number } | null = null
  /** When the last ping was answered. */
  #answeredMs = 0
  /** When the thread last posted anything. */
  #heardMs = 0
  #failure: AppError | null = null
  #idleSinceMs = performance.now()

  constructor(options: AgentThreadOptions) {
    this.#options = options
    this.#host = new WorkerHost({
      url: options.url,
      onMessage: (data) => this.#receive(data),
      onEnd: (cause, exitCode) => this.#end(crashed(cause, exitCode)),
    })
    // The answer to this ping, before the first question, shows that the thread has started.
    this.#post({ kind: 'ping' })
  }

  /** The agent that the thread belongs to; null if none yet. */
  get agentId(): number | null {
    return this.#agentId
  }

  get hasStopped(): boolean {
    return this.#host.hasEnded
  }

  get running(): number {
    return this.#seats.size
  }

  get unanswered(): number {
    let count = 0
    for (const seat of this.#seats.values()) if (seat.isListening) count += 1
    return count
  }

  get idleSinceMs(): number {
    return this.#idleSinceMs
  }

  get isOpen(): boolean {
    const isSlow = this.#ping !== null && this.#ping.ticks > 1
    return !this.hasStopped && !this.#isRetired && !this.#isAlone && !isSlow
  }

  prepare(provider: string): void {
    this.#post({ kind: 'prepare', provider })
  }

  /** @param isAlone whether no other question may share the thread */
  seat(agentId: number, isAlone: boolean): AgentSeat {
    this.#agentId = agentId
    this.#isAlone = isAlone
    this.#runs += 1
    const run = this.#runs
    const seat = new Seat({
      post: (message) => this.#post({ kind: 'run', run, message }),
      leave: () => this.#leave(run),
      endThread: (error) => this.#end(error),
    })
    this.#seats.set(run, seat)
    this.#host.setBusy(true)
    if (this.#failure !== null) seat.stop(this.#failure, false)
    return seat
  }

  /** Ends the thread if it neither answers pings nor posts, or its memory keeps growing. */
  watch(rss: number): void {
    const { pingMs, pingTicksMax, startTicksMax, memoryTicksMin, threadBytesMax } = AGENT_LIMITS
    const ping = this.#ping
    if (ping === null) {
      this.#ping = { ticks: 1, rss }
      this.#post({ kind: 'ping' })
      return
    }
    ping.ticks += 1
    const ticksMax = this.#answeredMs > 0 ? pingTicksMax : startTicksMax
    // A thread with many questions may work on all of them before it reads the ping.
    const isSilent = performance.now() - this.#heardMs > ticksMax * pingMs
    if (ping.ticks > ticksMax && isSilent) {
      this.#end(stopped('did not respond any more'))
    } else if (ping.ticks > memoryTicksMin && rss - ping.rss > threadBytesMax) {
      this.#end(stopped(`took more than ${threadBytesMax} bytes of memory`))
    }
  }

  /** Ends the thread immediately, without notifying its questions. */
  terminate(): void {
    for (const seat of this.#seats.values()) seat.leave()
    this.#seats.clear()
    void this.#host.terminate()
  }

  #post(message: ToThread): void {
    this.#host.post(message)
  }

  #receive(data: unknown): void {
    this.#heardMs = performance.now()
    for (const message of Array.isArray(data) ? data : [data]) this.#hear(parseFromThread(message))
  }

  #hear(message: FromThread | undefined): void {
    if (message === undefined) this.#end(stopped('sent a message without meaning'))
    else if (message.kind === 'pong') this.#answered(message.heapBytes)
    else if (message.kind === 'done') this.#done(message.run)
    // Late messages of a finished question are dropped.
    else this.#seats.get(message.run)?.receive(message.message)
  }

  #answered(heapBytes: number): void {
    const { threadBytesMax, threadBytesKept } = AGENT_LIMITS
    this.#ping = null
    this.#answeredMs = performance.now()
    if (heapBytes > threadBytesKept) this.#isRetired = true
    if (heapBytes > threadBytesMax) {
      this.#end(stopped(`took more than ${threadBytesMax} bytes of memory`))
    }
  }

  #leave(run: number): void {
    if (!this.#seats.has(run) || this.hasStopped) return
    const { leaveMs, stuckMs } = AGENT_LIMITS
    const leftMs = performance.now()
    this.#post({ kind: 'drop', run })
    this.#post({ kind: 'ping' })
    const whileItRuns = (ms: number, then: () => void) => {
      setTimeout(() => {
        if (this.#seats.has(run) && !this.hasStopped) then()
      }, ms).unref()
    }
    whileItRuns(leaveMs, () => {
      this.#isRetired = true
      this.#endIfUnused()
    })
    whileItRuns(stuckMs, () => {
      if (this.#answeredMs < leftMs) this.#end(stopped('did not respond any more'))
    })
  }

  #done(run: number): void {
    const seat = this.#seats.get(run)
    if (seat === undefined) return
    this.#seats.delete(run)
    if (seat.isListening) seat.stop(stopped('ended without an answer'), false)
    if (this.#seats.size === 0) {
      this.#isAlone = false
      this.#ping = null
      this.#idleSinceMs = performance.now()
      this.#host.setBusy(false)
    }
    if (this.#runs >= AGENT_LIMITS.threadRunsMax) this.#isRetired = true
    this.#endIfUnused()
    this.#options.onFree()
  }

  #endIfUnused(): void {
    if (!this.#isRetired || this.unanswered > 0 || this.hasStopped) return
    this.terminate()
    this.#options.onFree()
  }

  #end(error: AppError): void {
    if (this.#failure !== null) return
    this.#failure = error
    void this.#host.terminate()
    const seats = [...this.#seats.values()]
    this.#seats.clear()
    for (const seat of seats) seat.stop(error, seats.length > 1)
    this.#options.onFree()
  }
}

interface SeatDeps {
  post(message: ToWorker): void
  leave(): void
  endThread(error: AppError): void
}

class Seat implements AgentSeat {
  readonly #deps: SeatDeps
  #listener: SeatListener | null = null
  #failure: AppError | null = null
  #hasLeft = false
  #wasShared = false

  constructor(deps: SeatDeps) {
    this.#deps = deps
  }

  get wasShared(): boolean {
    return this.#wasShared
  }

  get isListening(): boolean {
    return !this.#hasLeft
  }

  listen(listener: SeatListener): void {
    this.#listener = listener
    if (this.#failure !== null) listener.stopped(this.#failure)
  }

  post(message: ToWorker): void {
    if (!this.#hasLeft) this.#deps.post(message)
  }

  leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#listener = null
    this.#deps.leave()
  }

  endThread(error: AppError): void {
    this.#hasLeft = true
    this.#listener = null
    this.#deps.endThread(error)
  }

  receive(data: unknown): void {
    this.#listener?.message(data)
  }

  stop(error: AppError, wasShared: boolean): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#failure = error
    this.#wasShared = wasShared
    this.#listener?.stopped(error)
  }
}

function stopped(what: string): AppError {
  return new AppError('agent_crashed', `The agent stopped unexpectedly: its thread ${what}`)
}

/** The thread's own error may contain anything, so it is only logged. */
function crashed(cause: unknown, exitCode: number | undefined): AppError {
  if (exitCode !== undefined) return stopped(`ended with exit code ${exitCode}`)
  const message = 'The agent stopped unexpectedly: its thread failed'
  return new AppError('agent_crashed', message, { cause })
}
