import { isDeepStrictEqual } from 'node:util'
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { CommitListener } from '../../core/domain/ports/retrieval-ports.ts'
import type { Database } from '../duckdb/database.ts'
import type { Secrets } from './secrets.ts'

type CatalogParts = Omit<CatalogSnapshot, 'version' | 'definitionsVersion'>

/** What everything that is stored shares. */
export interface StoreParts {
  readonly database: Database
  readonly state: CatalogState
  readonly secrets: Secrets
  /** Milliseconds since 1970. */
  readonly now: () => number
}

interface Identified {
  readonly id: number
}

/**
 * The catalog in memory. Only the `committed` step of a write changes it, so within a turn of the write queue it is
 * exactly what is stored.
 */
export class CatalogState {
  #snapshot: CatalogSnapshot
  #listener: CommitListener = NOBODY

  constructor(parts: CatalogParts) {
    this.#snapshot = deepFrozen({ version: 1, definitionsVersion: 1, ...parts })
  }

  snapshot(): CatalogSnapshot {
    return this.#snapshot
  }

  change(parts: Partial<CatalogParts>): void {
    const before = this.#snapshot
    const version = before.version + 1
    const isNew = changesDefinitions(before, parts)
    const definitionsVersion = before.definitionsVersion + (isNew ? 1 : 0)
    this.#snapshot = deepFrozen({ ...before, ...parts, version, definitionsVersion })
    this.#listener.catalogChanged(this.#snapshot)
  }

  /** For what is derived from the stored things. */
  get listener(): CommitListener {
    return this.#listener
  }

  /** From now on this one listens, alone. */
  setListener(listener: CommitListener): void {
    this.#listener = listener
  }
}

const NOBODY: CommitListener = {
  needsChange: () => false,
  beginCommit: () => {},
  endCommit: () => {},
  catalogChanged: () => {},
}

/** False when only documents of knowledge bases and rows of tables have changed. */
function changesDefinitions(
  before: CatalogParts,
  { knowledgeBases, tables, ...others }: Partial<CatalogParts>,
): boolean {
  if (Object.keys(others).length > 0) return true
  const isSame =
    isEach(before.knowledgeBases, knowledgeBases, (kb, known) => {
      const { revision, updatedAt } = kb
      return isDeepStrictEqual(kb, { ...known, revision, updatedAt })
    }) &&
    isEach(before.tables, tables, (table, known) => {
      return isDeepStrictEqual(table, { ...known, rowCount: table.rowCount })
    })
  return !isSame
}

function isEach<T>(
  before: readonly T[],
  now: readonly T[] | undefined,
  isDefinedAs: (thing: T, known: T) => boolean,
): boolean {
  if (now === undefined) return true
  if (now.length !== before.length) return false
  return now.every((thing, index) => {
    const known = before[index]
    return thing === known || (known !== undefined && isDefinedAs(thing, known))
  })
}

/** The list with this thing in the place of the one with its id, or at its end where there is none. */
export function withReplaced<T extends Identified>(things: readonly T[], thing: T): readonly T[] {
  const isThere = things.some((other) => other.id === thing.id)
  if (!isThere) return [...things, thing]
  return things.map((other) => (other.id === thing.id ? thing : other))
}

export function withoutId<T extends Identified>(things: readonly T[], id: number): readonly T[] {
  return things.filter((thing) => thing.id !== id)
}

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFrozen(part)
  return Object.freeze(value)
}
