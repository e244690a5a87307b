/** Sizes as settings write them: `512MB`, `4GiB`, or `60%` of the machine's memory. */
import { totalmem } from 'node:os'

/**
 * A size that DuckDB understands. It takes no percentages: `60%` is that share of the machine's
 * memory, or of the container's where that has less.
 */
export function memoryLimitOf(setting: string): string {
  const share = shareOf(setting)
  if (share === undefined) return setting
  const mebibytes = Math.floor((machineBytes() * share) / 1024 ** 2)
  return `${Math.max(mebibytes, 64)}MiB`
}

const UNITS: Readonly<Record<string, number>> = {
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}

/** The same size in bytes. */
export function memoryBytesOf(setting: string): number {
  const share = shareOf(setting)
  if (share !== undefined) return Math.floor(machineBytes() * share)
  const [, amount = '0', unit = 'MB'] = /^(\d+(?:\.\d+)?)(\w+)$/.exec(setting) ?? []
  return Math.floor(Number(amount) * (UNITS[unit] ?? 0))
}

/** 0 to 1. */
function shareOf(setting: string): number | undefined {
  const share = /^(\d+(?:\.\d+)?)%$/.exec(setting)?.[1]
  return share === undefined ? undefined : Number(share) / 100
}

/** Of the machine, or of the container where that has less. */
export function machineBytes(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
