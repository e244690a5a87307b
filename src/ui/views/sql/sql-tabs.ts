/**
 * The open tabs, stored in this browser. Each tab is stored separately, so that two windows can
 * change different ones and see each other's changes. Each window has its own current tab.
 */
import { signal } from '@preact/signals'
import { isObject, parsedJson } from '../../../core/json.ts'
import { forget, remember, remembered } from '../../components/browser-storage.ts'
import type { LinkedStatement } from './statement.ts'

const LIST_KEY = 'eider.sql.tabs'
const TAB_KEY = 'eider.sql.tab.'
const CURRENT_KEY = 'eider.sql.current'

export interface SqlTab extends LinkedStatement {
  readonly id: string
  readonly name: string
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
  params: {},
  hasChart: false,
  chart: {},
}

export const tabs = signal<Tabs>(storedTabs(windowsOwn() ?? remembered(CURRENT_KEY)))

window.addEventListener('storage', ({ key }) => {
  const isTab = key === null || key === LIST_KEY || key.startsWith(TAB_KEY)
  if (isTab) tabs.value = withLookedAt(storedTabs(tabs.value.current))
})

/** The current tab stays open, even if another window closed it or it is not stored yet. */
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
    // If storage is not available, the page starts with the first tab.
  }
}

/** Opens a new tab, or uses the current one if it is empty. */
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

/** @returns a function that reopens the tab */
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
    const tab = parsedJson(remembered(`${TAB_KEY}${id}`) ?? '')
    // Only this page writes it. Fields that older versions lack get their initial value.
    return isObject(tab) ? [{ ...FIRST, ...(tab as Partial<SqlTab>), id }] : []
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
  const list = parsedJson(remembered(LIST_KEY) ?? '')
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : []
}

function storeIds(ids: readonly string[]): void {
  remember(LIST_KEY, JSON.stringify(ids))
}

/** Random, so that two windows never choose the same id. */
function newId(): string {
  return `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`
}

function freeName(): string {
  const numbers = tabs.value.open.map(
    ({ name }) => Number(/^Statement (\d+)$/.exec(name)?.[1]) || 0,
  )
  return `Statement ${Math.max(0, ...numbers) + 1}`
}
