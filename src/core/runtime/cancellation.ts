/** Ending work: by its caller, by its deadline, or by no longer waiting. Leaves no listener or timer behind. */
import { AppError } from '../errors.ts'

export interface Deadline {
  /** Aborts with a caller's reason, or with the deadline's own error when its time is over. */
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** Restarts the countdown. */
  restart(timeoutMs: number): void
  /** Releases the timer and the callers' signals. */
  end(): void
}

export interface DeadlineOptions {
  readonly timeoutMs: number
  /** The first to abort ends the deadline, with its reason. */
  readonly signals: readonly AbortSignal[]
  /** The error when the time is up. */
  readonly timeoutError: (timeoutMs: number) => AppError
  /** Set: a caller's reason that is not an `AppError` becomes `cancelled` with this message. */
  readonly cancelledMessage?: string
}

/** A field would make signals, of which each request has several, slow objects. */
const CALLERS = new WeakMap<AbortSignal, string>()

/**
 * Records whose work a signal ends. A signal passes through the whole way from a request to the database, also between
 * threads, and derived signals keep the caller.
 */
export function setCaller(signal: AbortSignal, caller: string | undefined): void {
  if (caller !== undefined) CALLERS.set(signal, caller)
}

/** undefined: internal work of the server. */
export function callerOf(signal: AbortSignal): string | undefined {
  return CALLERS.get(signal)
}

const ORIGINS = new WeakMap<AbortSignal, object>()

/** Records the origin of the work that a signal ends: it travels with the signal, like the caller. */
export function setOrigin(signal: AbortSignal, origin: object | undefined): void {
  if (origin !== undefined) ORIGINS.set(signal, origin)
}

/** undefined: internal work of the server. */
export function abortOrigin(signal: AbortSignal): object | undefined {
  return ORIGINS.get(signal)
}

const STATEMENTS = new WeakMap<AbortSignal, string>()

/** Records the caller's statement that a signal ends, as sent. */
export function setStatement(signal: AbortSignal, sql: string): void {
  STATEMENTS.set(signal, sql)
}

export function statementOf(signal: AbortSignal): string | undefined {
  return STATEMENTS.get(signal)
}

export function startDeadline(options: DeadlineOptions): Deadline {
  const { timeoutMs, signals, timeoutError } = options
  const controller = new AbortController()
  const owner = signals.find((signal) => callerOf(signal) !== undefined)
  if (owner !== undefined) {
    setCaller(controller.signal, callerOf(owner))
    setOrigin(controller.signal, abortOrigin(owner))
    const statement = statementOf(owner)
    if (statement !== undefined) setStatement(controller.signal, statement)
  }
  const stopListening = signals.map((signal) => {
    return onAbort(signal, () => controller.abort(abortReason(signal, options)))
  })
  const startTimer = (ms: number) => setTimeout(() => controller.abort(timeoutError(ms)), ms)
  let timer = startTimer(timeoutMs)
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    restart: (ms) => {
      clearTimeout(timer)
      timer = startTimer(ms)
    },
    end: () => {
      clearTimeout(timer)
      for (const stop of stopListening) stop()
    },
  }
}

function abortReason({ reason }: AbortSignal, { cancelledMessage }: DeadlineOptions): unknown {
  if (cancelledMessage === undefined || reason instanceof AppError) return reason
  return new AppError('cancelled', cancelledMessage, { cause: reason })
}

/**
 * Runs `work` with a signal that ends it in time.
 * @throws the caller's reason when it aborted, `timeoutError` when the time was over, what `work` throws
 */
export async function withDeadline<T>(
  given: {
    readonly timeoutMs: number
    readonly signal: AbortSignal
    readonly timeoutError: (timeoutMs: number) => AppError
  },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { timeoutMs, signal, timeoutError } = given
  signal.throwIfAborted()
  const deadline = startDeadline({ timeoutMs, signals: [signal], timeoutError })
  try {
    return await work(deadline.signal)
  } catch (error) {
    // Aborted work may throw its own error.
    deadline.signal.throwIfAborted()
    throw error
  } finally {
    deadline.end()
  }
}

/** Calls `listener` once at the abort, or at once if already aborted. Returns a function that stops listening. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener()
    return () => {}
  }
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/**
 * Waits for work that cannot be aborted itself, no longer than its signal allows.
 * @throws the signal's reason as soon as it aborts; what the work throws
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const stopListening = onAbort(signal, () => aborted.reject(signal.reason))
  try {
    return await Promise.race([aborted.promise, work])
  } finally {
    stopListening()
  }
}

/** @throws the signal's reason if it aborts meanwhile */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (ms <= 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  try {
    await abortable(promise, signal)
  } finally {
    clearTimeout(timer)
  }
}

/** Waits until work has settled. @param ms null: without a limit. @returns false: not within this time */
export async function settlesWithin(work: Promise<unknown>, ms: number | null): Promise<boolean> {
  const settled = work.then(
    () => true,
    () => true,
  )
  if (ms === null) return settled
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), ms)
  try {
    return await Promise.race([settled, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
