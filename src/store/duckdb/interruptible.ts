import type { DuckDBConnection } from '@duckdb/node-api'
import { onAbort } from '../../core/runtime/cancellation.ts'

const INTERRUPT_EVERY_MS = 20

/**
 * Interrupts the connection's statement repeatedly: DuckDB forgets an interrupt that comes before the statement has begun.
 * Returns a function that stops.
 */
export function startInterrupting(connection: DuckDBConnection): () => void {
  const interrupt = () => connection.interrupt()
  interrupt()
  const timer = setInterval(interrupt, INTERRUPT_EVERY_MS)
  return () => clearInterval(timer)
}

/** Runs one internal statement until it is done or the signal aborts. @throws as `interruptible` */
export async function runInterruptibly(
  connection: DuckDBConnection,
  signal: AbortSignal,
  sql: string,
): Promise<void> {
  await interruptible(connection, signal, () => connection.run(sql))
}

/** Runs internal statements until they are done or the signal aborts. @throws the signal's reason; DuckDB's error */
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
