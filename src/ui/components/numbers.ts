/** Formats numbers and times for people. */

const COUNT = new Intl.NumberFormat('en')

/** Formats counts: `12,345`. */
export function shownCount(count: number): string {
  return COUNT.format(count)
}

/** Formats counts with a noun: `1 document`, `2,000 documents`. */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${COUNT.format(count)} ${count === 1 ? noun : nouns}`
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

/** Formats sizes: `3.2 MB`, in decimal units as for disks. */
export function shownBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** power
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`
}

/** Formats durations: `0.8 ms`, `240 ms`, `3.2 s`, `4 min 10 s`, `2 h 5 min`. */
export function shownDuration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}

const TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

/** Converts the API's `YYYY-MM-DD HH:MM:SS.ffffff` (UTC) to the reader's time zone. */
export function shownTime(time: string): string {
  return TIME.format(timeOf(time))
}

/** Formats ages: `just now`, `5 minutes ago`, `in 2 hours`. */
export function shownAge(time: string, nowMs: number): string {
  const seconds = (timeOf(time).getTime() - nowMs) / 1000
  const far = Math.abs(seconds)
  if (far < 30) return 'just now'
  const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
  if (far < 3600) return format.format(Math.round(seconds / 60), 'minute')
  if (far < 86_400) return format.format(Math.round(seconds / 3600), 'hour')
  return format.format(Math.round(seconds / 86_400), 'day')
}

/** Parses an API time. */
export function timeOf(time: string): Date {
  return new Date(`${time.replace(' ', 'T').slice(0, 23)}Z`)
}

/** A project's display name. The default project's real name comes from MindsDB's API. */
export function shownProject(name: string): string {
  return name === 'mindsdb' ? 'default' : name
}

/** The projects that a key or user may use, as text. */
export function shownProjects(names: readonly string[] | null): string {
  return names === null ? 'All projects' : names.map(shownProject).join(', ')
}

/** Returns `teas (default)`, the label in a list of several projects. */
export function shownIn(project: string, name: string): string {
  return `${name} (${shownProject(project)})`
}
