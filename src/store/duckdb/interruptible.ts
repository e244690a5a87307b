import type { DuckDBConnection } from '@duckdb/node-api'

/** An interrupt is lost when the statement has not begun, so it is repeated. */
const INTERRUPT_EVERY_MS = 20

/** Runs a statement of ours until it is done or the signal aborts. @throws the signal's reason */
export async function interruptible(
  connection: DuckDBConnection,
  signal: AbortSignal,
  sql: string,
): Promise<void> {
  signal.throwIfAborted()
  let timer: ReturnType<typeof setInterval> | undefined
  const interrupt = () => connection.interrupt()
  const stop = () => {
    interrupt()
    timer = setInterval(interrupt, INTERRUPT_EVERY_MS)
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    await connection.run(sql)
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', stop)
    clearInterval(timer)
  }
  signal.throwIfAborted()
}
