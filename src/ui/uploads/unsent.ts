/**
 * Uploads not yet sent: the browser keeps them until the server has begun to read them, so that closing the page loses none.
 */
import { signal } from '@preact/signals'
import type { NamedFile } from './picked-files.tsx'

interface UnsentFile extends NamedFile {
  /** Which window was sending it, and which of its uploads it was. */
  readonly key: string
  readonly project: string
  readonly knowledgeBase: string
}

/** Those of windows closed before sending them. */
export const unsent = signal<readonly UnsentFile[]>([])

const WINDOW = crypto.getRandomValues(new Uint32Array(2)).join('-')
const STORE = 'uploads'
/** Without locks, it is unknown which windows are open, and which files are theirs. */
const canKeep = 'locks' in navigator && 'indexedDB' in globalThis
const opened: { database: Promise<IDBDatabase> | undefined } = { database: undefined }

export function keepUnsent(id: number, file: Omit<UnsentFile, 'key'>): void {
  const { name, content, project, knowledgeBase } = file
  const kept = { key: keyOf(id), name, content, project, knowledgeBase }
  void inStore('readwrite', (store) => store.put(kept))
}

export function forgetUnsent(ids: readonly number[]): void {
  void forget(ids.map(keyOf))
}

/** Removes them from the list, to send them again or discard them. */
export function takeUnsent(): readonly UnsentFile[] {
  const taken = unsent.value
  unsent.value = []
  void forget(taken.map(({ key }) => key))
  return taken
}

async function forget(keys: readonly string[]): Promise<void> {
  for (const key of keys) await inStore('readwrite', (store) => store.delete(key))
}

function keyOf(id: number): string {
  return `${WINDOW} ${id}`
}

/** Reads what closed windows have left. */
export async function readUnsent(): Promise<void> {
  if (!canKeep) return
  // Held until this window is closed.
  void navigator.locks.request(lockOf(WINDOW), () => new Promise(() => {})).catch(() => {})
  const { held = [] } = await navigator.locks.query()
  const open = new Set(held.map(({ name }) => name))
  // Written above.
  const all = (await inStore('readonly', (store) => store.getAll())) as UnsentFile[] | undefined
  unsent.value = (all ?? []).filter(({ key }) => !open.has(lockOf(key.split(' ', 1)[0] ?? '')))
}

function lockOf(window: string): string {
  return `eider.uploads.${window}`
}

/** @returns undefined if the browser stores nothing */
async function inStore<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T | undefined> {
  if (!canKeep) return undefined
  try {
    opened.database ??= openDatabase()
    const database = await opened.database
    return await settled(work(database.transaction(STORE, mode).objectStore(STORE)))
  } catch {
    // A full disk or a private window: sending continues without it.
    return undefined
  }
}

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open('eider.uploads', 1)
  request.addEventListener('upgradeneeded', () => {
    request.result.createObjectStore(STORE, { keyPath: 'key' })
  })
  return settled(request)
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error))
  })
}
