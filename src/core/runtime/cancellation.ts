/** Ends work when its caller aborts or its time is up, and leaves no listeners or timers. */
import { AppError } from '../errors.ts'

export interface Deadline {
  /** Aborts with a caller's reason, or with `timeoutError` when the time is up. */
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** Restarts the countdown. */
  restart(timeoutMs: number): void
  end(): void
}

interface DeadlineOptions {
  readonly timeoutMs: number
  /** The first of these to abort ends the deadline, with its reason. */
  readonly signals: readonly AbortSignal[]
  /** Makes the error for the timeout. */
  readonly timeoutError: (timeoutMs: number) => AppError
  readonly cancelledMessage?: string
}

/** A WeakMap, because an extra property would make signals slow, and each request has several. */
const CALLERS = new WeakMap<AbortSignal, string>()

/** Travels with the signal, also between threads and to derived signals. */
export function setCaller(signal: AbortSignal, caller: string | undefined): void {
  if (caller !== undefined) CALLERS.set(signal, caller)
}

/** Returns undefined for the server's own work. */
export function callerOf(signal: AbortSignal): string | undefined {
  return CALLERS.get(signal)
}

const ORIGINS = new WeakMap<AbortSignal, object>()

export function setOrigin(signal: AbortSignal, origin: object | undefined): void {
  if (origin !== undefined) ORIGINS.set(signal, origin)
}

/** Returns undefined for the server's own work. */
export function abortOrigin(signal: AbortSignal): object | undefined {
  return ORIGINS.get(signal)
}

const STATEMENTS = new WeakMap<AbortSignal, string>()

/** Records the client's statement that a signal belongs to, as sent. */
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

/** @throws the caller's reason, `timeoutError`, or the error of `work` */
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
    // Aborted work may have thrown an error of its own.
    deadline.signal.throwIfAborted()
    throw error
  } finally {
    deadline.end()
  }
}

/** Or right away if already aborted. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener()
    return () => {}
  }
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** @throws the signal's reason as soon as it aborts; the error of the work */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const stopListening = onAbort(signal, () => aborted.reject(signal.reason))
  try {
    return await Promise.race([aborted.promise, work])
  } finally {
    stopListening()
  }
}

/** @throws the signal's reason if it aborts while waiting */
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

/** @param ms null for no limit @returns false if the time ran out first */
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

/** Aborts with the error for a server that does not answer. */
export function silence(afterMs: number): AbortSignal {
  const controller = new AbortController()
  const error = Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })
  setTimeout(() => controller.abort(error), afterMs).unref()
  return controller.signal
}
