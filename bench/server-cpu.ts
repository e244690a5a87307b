/** Measures the processor time of a process and its children, which is more reliable than elapsed time. */
import { readdirSync, readFileSync } from 'node:fs'

/** The unit in /proc/<pid>/stat, which does not depend on the kernel's own tick. */
const TICK_MS = 10

interface ProcessTimes {
  readonly parent: number
  readonly cpuMs: number
}

/** Returns milliseconds in user and kernel mode, with children that run or have ended. NaN without /proc. */
export function cpuMsOf(pid: number): number {
  const own = timesOf(pid)
  if (own === null) return Number.NaN
  const all = new Map<number, ProcessTimes>()
  for (const name of readdirSync('/proc')) {
    const times = /^\d+$/.test(name) ? timesOf(Number(name)) : null
    if (times !== null) all.set(Number(name), times)
  }
  const isBelow = (one: number): boolean => {
    const parent = all.get(one)?.parent ?? 0
    return parent === pid || (parent > 1 && isBelow(parent))
  }
  let cpuMs = own.cpuMs
  for (const [one, times] of all) if (one !== pid && isBelow(one)) cpuMs += times.cpuMs
  return cpuMs
}

function timesOf(pid: number): ProcessTimes | null {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return null
  }
  // The name of the program is in parentheses and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return { parent: Number(fields[1]), cpuMs: ticks * TICK_MS }
}
