/**
 * The statements at hand, as this browser keeps them. Each is stored by itself, so that two windows change different ones
 * without a loss, and each shows what the other did; which one is looked at is a window's own.
 */
import { signal } from '@preact/signals'
import { forget, remember, remembered } from '../../components/browser-storage.ts'
import { NO_PARAMETERS, type Parameters } from './parameters.ts'

const LIST_KEY = 'eider.sql.tabs'
const TAB_KEY = 'eider.sql.tab.'
const CURRENT_KEY = 'eider.sql.current'

export type ResultForm = 'Table' | 'Chart' | 'JSON'

export interface SqlTab {
  readonly id: string
  readonly name: string
  readonly sql: string
  readonly project: string
  readonly params: Parameters
  readonly form: ResultForm
  /** What was changed of the chart that its rows suggest, as a link has it. */
  readonly chart: Readonly<Record<string, string>>
}

interface Tabs {
  readonly open: readonly SqlTab[]
  readonly current: string
}

const FIRST: SqlTab = {
  id: newId(),
  name: 'Statement 1',
  sql: '',
  project: 'mindsdb',
  params: NO_PARAMETERS,
  form: 'Table',
  chart: {},
}

export const tabs = signal<Tabs>(storedTabs(windowsOwn() ?? remembered(CURRENT_KEY)))

window.addEventListener('storage', ({ key }) => {
  const isTab = key === null || key === LIST_KEY || key.startsWith(TAB_KEY)
  if (isTab) tabs.value = withLookedAt(storedTabs(tabs.value.current))
})

/** What somebody looks at stays, though another window closed it, or nothing of it was stored yet. */
function withLookedAt(stored: Tabs): Tabs {
  const looked = currentTab()
  if (stored.open.some(({ id }) => id === looked.id)) return stored
  return { open: [looked, ...stored.open], current: looked.id }
}

export function currentTab(): SqlTab {
  return tabs.value.open.find(({ id }) => id === tabs.value.current) ?? tabs.value.open[0] ?? FIRST
}

export function changeTab(id: string, changes: Partial<SqlTab>): void {
  const open = tabs.value.open.map((one) => (one.id === id ? { ...one, ...changes } : one))
  tabs.value = { ...tabs.value, open }
  const changed = open.find((one) => one.id === id)
  if (changed === undefined) return
  remember(`${TAB_KEY}${id}`, JSON.stringify(changed))
  const list = storedIds()
  if (!list.includes(id)) storeIds([...list, id])
}

export function showTab(id: string): void {
  tabs.value = { ...tabs.value, current: id }
  remember(CURRENT_KEY, id)
  try {
    sessionStorage.setItem(CURRENT_KEY, id)
  } catch {
    // This window forgets, as a browser does that keeps nothing.
  }
}

/** Shows it as a tab of its own, or in the place of an empty one that is looked at. */
export function openTab(init: Partial<SqlTab> = {}): SqlTab {
  const before = currentTab()
  const isFree = before.sql.trim() === '' && init.sql !== undefined
  const id = isFree ? before.id : newId()
  const tab = { ...FIRST, name: isFree ? before.name : freeName(), ...init, id }
  if (!isFree) tabs.value = { ...tabs.value, open: [...tabs.value.open, tab] }
  changeTab(id, tab)
  showTab(id)
  return tab
}

/** @returns what puts it back */
export function closeTab(id: string): () => void {
  const { open, current } = tabs.value
  const at = open.findIndex((one) => one.id === id)
  const closed = open[at]
  const others = open.filter((one) => one.id !== id)
  const left = others.length === 0 ? [{ ...FIRST, id: newId() }] : others
  forget(`${TAB_KEY}${id}`)
  storeIds(storedIds().filter((one) => one !== id))
  tabs.value = { open: left, current }
  if (current === id) showTab((left[Math.min(at, left.length - 1)] ?? FIRST).id)
  return () => {
    if (closed === undefined) return
    tabs.value = { ...tabs.value, open: tabs.value.open.toSpliced(at, 0, closed) }
    changeTab(id, {})
    showTab(id)
  }
}

function storedTabs(current: string | null): Tabs {
  const open = storedIds().flatMap((id): readonly SqlTab[] => {
    const tab = parsed(remembered(`${TAB_KEY}${id}`))
    // Nobody but this page writes it; what is new in it since then gets its first value.
    return isRecord(tab) ? [{ ...FIRST, ...(tab as Partial<SqlTab>), id }] : []
  })
  const [first = FIRST] = open
  const isThere = open.some(({ id }) => id === current)
  return {
    open: open.length === 0 ? [FIRST] : open,
    current: isThere && current !== null ? current : first.id,
  }
}

function windowsOwn(): string | null {
  try {
    return sessionStorage.getItem(CURRENT_KEY)
  } catch {
    return null
  }
}

function storedIds(): readonly string[] {
  const list = parsed(remembered(LIST_KEY))
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : []
}

function storeIds(ids: readonly string[]): void {
  remember(LIST_KEY, JSON.stringify(ids))
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}

/** No two windows find the same. */
function newId(): string {
  return `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`
}

function freeName(): string {
  const numbers = tabs.value.open.map(
    ({ name }) => Number(/^Statement (\d+)$/.exec(name)?.[1]) || 0,
  )
  return `Statement ${Math.max(0, ...numbers) + 1}`
}
