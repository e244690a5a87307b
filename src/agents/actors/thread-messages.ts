/** Messages between the main thread and a thread of agents: those of several questions, each with its number. */
import type { ToWorker } from './worker-messages.ts'

/** Main thread → thread. */
export type ToThread =
  /** For a spare thread: what the next question will probably need. */
  | { readonly kind: 'prepare'; readonly provider: string }
  /** Is it still alive? */
  | { readonly kind: 'ping' }
  | { readonly kind: 'run'; readonly run: number; readonly message: ToWorker }
  /** The question's client is gone: it is aborted. */
  | { readonly kind: 'drop'; readonly run: number }

/** Thread → main thread. */
export type FromThread =
  | { readonly kind: 'pong'; readonly heapBytes: number }
  /** Read as `FromWorker` by whom it concerns. */
  | { readonly kind: 'run'; readonly run: number; readonly message: unknown }
  /** Nothing runs for this question any more. */
  | { readonly kind: 'done'; readonly run: number }

/** A thread may send anything: undefined if it is not a message. */
export function parseFromThread(data: unknown): FromThread | undefined {
  if (typeof data !== 'object' || data === null || !('kind' in data)) return undefined
  if (data.kind === 'pong') {
    const heapBytes = 'heapBytes' in data ? data.heapBytes : undefined
    return typeof heapBytes === 'number' ? { kind: 'pong', heapBytes } : undefined
  }
  if (!('run' in data) || typeof data.run !== 'number') return undefined
  const { run } = data
  if (data.kind === 'done') return { kind: 'done', run }
  if (data.kind === 'run' && 'message' in data) return { kind: 'run', run, message: data.message }
  return undefined
}
