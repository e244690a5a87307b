import { totalmem } from 'node:os'

/**
 * A size that DuckDB understands. It takes no percentages: `60%` is that share of the machine's
 * memory, or of the container's where that has less.
 */
export function memoryLimitOf(setting: string): string {
  const share = /^(\d+(?:\.\d+)?)%$/.exec(setting)?.[1]
  if (share === undefined) return setting
  const constrained = process.constrainedMemory()
  const total = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  const mebibytes = Math.floor((total * Number(share)) / 100 / 1024 ** 2)
  return `${Math.max(mebibytes, 64)}MiB`
}
