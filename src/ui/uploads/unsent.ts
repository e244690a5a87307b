/**
 * Uploads that were not sent yet. The browser stores them until the server starts reading them, so
 * that none is lost.
 */
import { signal } from '@preact/signals'
import type { NamedFile } from './picked-files.tsx'

interface UnsentFile extends NamedFile {
  /** Identifies the window that was sending the file, and the upload. */
  readonly key: string
  readonly project: string
  readonly knowledgeBase: string
}

/** Files of windows that were closed before sending them. */
export const unsent = signal<readonly UnsentFile[]>([])

const WINDOW = crypto.getRandomValues(new Uint32Array(2)).join('-')
const STORE = 'uploads'
/** Without locks, the page cannot tell which windows are open and which files are theirs. */
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

/** Removes the files from the list, to send them again or discard them. */
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

export async function readUnsent(): Promise<void> {
  if (!canKeep) return
  // The lock is held until this window is closed.
  void navigator.locks.request(lockOf(WINDOW), () => new Promise(() => {})).catch(() => {})
  const { held = [] } = await navigator.locks.query()
  const open = new Set(held.map(({ name }) => name))
  // This page wrote these records.
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
    // The disk is full or the window is private. Uploading works without storing the files.
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
