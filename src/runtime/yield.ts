/** Lets everything else that waits run: DuckDB's conversions and appends hold the main thread. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
