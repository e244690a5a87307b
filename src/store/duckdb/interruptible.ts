import type { DuckDBConnection } from '@duckdb/node-api'
import { onAbort } from '../../core/runtime/cancellation.ts'

const INTERRUPT_EVERY_MS = 20

/** Repeatedly: DuckDB forgets an interrupt before the start. Returns a function to stop. */
export function startInterrupting(connection: DuckDBConnection): () => void {
  const interrupt = () => connection.interrupt()
  interrupt()
  const timer = setInterval(interrupt, INTERRUPT_EVERY_MS)
  return () => clearInterval(timer)
}

/**
 * Runs one internal statement until it finishes or the signal aborts. @throws like `interruptible`
 */
export async function runInterruptibly(
  connection: DuckDBConnection,
  signal: AbortSignal,
  sql: string,
): Promise<void> {
  await interruptible(connection, signal, () => connection.run(sql))
}

/** @throws the signal's reason, or DuckDB's error */
export async function interruptible<T>(
  connection: DuckDBConnection,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  let stopInterrupting = () => {}
  const stopListening = onAbort(signal, () => {
    stopInterrupting = startInterrupting(connection)
  })
  try {
    const result = await work()
    signal.throwIfAborted()
    return result
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    stopListening()
    stopInterrupting()
  }
}
