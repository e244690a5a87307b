/** The tabs of the editor and what was run, as this browser keeps them. */
import { signal } from '@preact/signals'

const TABS_KEY = 'eider.sql.tabs'
const HISTORY_KEY = 'eider.sql.history'
const HISTORY_MAX = 200

export interface SqlTab {
  readonly id: string
  readonly name: string
  readonly sql: string
  readonly project: string
  readonly params: Readonly<Record<string, string>>
}

export interface PastRun {
  readonly sql: string
  readonly project: string
  readonly atMs: number
  readonly ms: number
  /** null: it failed. */
  readonly rows: number | null
}

interface Tabs {
  readonly open: readonly SqlTab[]
  readonly current: string
}

const FIRST: SqlTab = { id: '1', name: 'Statement 1', sql: '', project: 'mindsdb', params: {} }

export const tabs = signal<Tabs>(stored(TABS_KEY, { open: [FIRST], current: '1' }, isTabs))
export const history = signal<readonly PastRun[]>(stored(HISTORY_KEY, [], Array.isArray))

export function currentTab(): SqlTab {
  return tabs.value.open.find(({ id }) => id === tabs.value.current) ?? tabs.value.open[0] ?? FIRST
}

export function changeTab(id: string, changes: Partial<SqlTab>): void {
  const open = tabs.value.open.map((one) => (one.id === id ? { ...one, ...changes } : one))
  keep({ ...tabs.value, open })
}

export function showTab(id: string): void {
  keep({ ...tabs.value, current: id })
}

export function openTab(init: Partial<SqlTab> = {}): SqlTab {
  const number = Math.max(0, ...tabs.value.open.map(({ id }) => Number(id) || 0)) + 1
  const tab = { ...FIRST, id: String(number), name: `Statement ${number}`, ...init }
  keep({ open: [...tabs.value.open, tab], current: tab.id })
  return tab
}

/** @returns what puts it back */
export function closeTab(id: string): () => void {
  const before = tabs.value
  const open = before.open.filter((one) => one.id !== id)
  const left = open.length === 0 ? [FIRST] : open
  const current = before.current === id ? (left.at(-1)?.id ?? FIRST.id) : before.current
  keep({ open: left, current })
  return () => keep(before)
}

export function noteRun(run: PastRun): void {
  const others = history.value.filter(({ sql, project }) => {
    return sql !== run.sql || project !== run.project
  })
  history.value = [run, ...others].slice(0, HISTORY_MAX)
  store(HISTORY_KEY, history.value)
}

function keep(next: Tabs): void {
  tabs.value = next
  store(TABS_KEY, next)
}

function stored<T>(key: string, unset: T, isThat: (value: unknown) => boolean): T {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? 'null')
    // Nobody but this page writes it, and `isThat` looked at its shape.
    return isThat(value) ? (value as T) : unset
  } catch {
    return unset
  }
}

function isTabs(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('open' in value)) return false
  return Array.isArray(value.open) && value.open.length > 0
}

/** A browser without room, or one that keeps nothing, goes on without. */
function store(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value))
  } catch {
    // As above.
  }
}
