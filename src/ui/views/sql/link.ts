/** The address that opens a statement with its parameters and how its result was looked at. Pure. */
import { PARAMETER_KINDS, type Parameter } from './parameters.ts'
import type { SqlTab } from './sql-tabs.ts'

/** Proxies and servers on the way take so long an address. */
const QUERY_CHARS_MAX = 4000
/** What stands behind `#` stays in the browser, but mail and chats cut long addresses. */
const LINK_CHARS_MAX = 100_000

type Linked = Pick<SqlTab, 'sql' | 'project' | 'params' | 'form' | 'chart'>

export interface OpenedLink extends Partial<Linked> {
  readonly sql: string
  readonly name?: string
  /** It runs by itself, if the server sees that it only reads. */
  readonly isRun: boolean
}

/** @returns undefined: no address is so long */
export function linkOf(tab: Linked, origin: string): string | undefined {
  const words = new URLSearchParams({ q: tab.sql, project: tab.project, run: '1' })
  for (const [name, { typed, kind }] of Object.entries(tab.params)) {
    words.set(`p.${name}`, typed)
    if (kind !== 'auto') words.set(`t.${name}`, kind)
  }
  if (tab.form !== 'Table') words.set('as', tab.form)
  for (const [name, value] of Object.entries(tab.chart)) words.set(`chart.${name}`, value)
  const text = String(words)
  if (text.length > LINK_CHARS_MAX) return undefined
  return `${origin}/sql${text.length > QUERY_CHARS_MAX ? '#' : '?'}${text}`
}

/** @param words what follows `?` or `#` */
export function linked(words: string): OpenedLink | undefined {
  const read = new URLSearchParams(words)
  const sql = read.get('q')
  if (sql === null || sql === '') return undefined
  const project = read.get('project')
  const form = (['Chart', 'JSON'] as const).find((one) => one === read.get('as'))
  return {
    sql,
    isRun: read.get('run') === '1',
    params: Object.fromEntries(
      prefixed(read, 'p.').map(([name, typed]) => [name, parameter(name, typed)]),
    ),
    chart: Object.fromEntries(prefixed(read, 'chart.')),
    ...(project ? { project } : {}),
    ...(form === undefined ? {} : { form }),
  }

  function parameter(name: string, typed: string): Parameter {
    const kind = PARAMETER_KINDS.find((one) => one === read.get(`t.${name}`)) ?? 'auto'
    return { typed, kind }
  }
}

function prefixed(words: URLSearchParams, prefix: string): readonly (readonly [string, string])[] {
  return [...words].flatMap(([name, value]) => {
    return name.startsWith(prefix) ? [[name.slice(prefix.length), value] as const] : []
  })
}
