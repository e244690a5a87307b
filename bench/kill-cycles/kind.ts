/**
 * What the writers change. Each kind has keys, and each key a state: a version or `absent`. A change requests a new state.
 * After a restart, every key must be in the last acknowledged state or in one requested since.
 */
import type { EiderClient } from '../../scripts/eider-client.ts'

export const ABSENT = 'absent'
export const PROJECT = '/projects/mindsdb'
export const KBS = `${PROJECT}/knowledge_bases`

export interface Target {
  readonly client: EiderClient
  readonly baseUrl: string
  readonly dataDirectory: string
}

export interface Change {
  readonly key: string
  readonly state: string
  run(target: Target): Promise<unknown>
}

export interface Kind {
  readonly name: string
  /** @param stateOf returns the last acknowledged state */
  change(choose: Choose, version: number, stateOf: (key: string) => string): Change
  /** Returns the states of all existing keys. */
  observe(target: Target): Promise<ReadonlyMap<string, string>>
}

/** Returns a whole number below the bound. */
export type Choose = (bound: number) => number

/** @returns the common version of each group of rows `[key, version]` that has the expected number of rows */
export function commonVersions(
  rows: readonly (readonly unknown[])[],
  sizeOf: (version: number) => number,
): ReadonlyMap<string, string> {
  const groups = Map.groupBy(rows, ([key]) => String(key))
  return new Map(
    [...groups].map(([key, group]) => {
      const version = Number(group[0]?.[1])
      const isWhole =
        group.length === sizeOf(version) && group.every(([, one]) => Number(one) === version)
      return [key, isWhole ? String(version) : `torn: ${JSON.stringify(group).slice(0, 300)}`]
    }),
  )
}
