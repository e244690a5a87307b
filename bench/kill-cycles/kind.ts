/**
 * What the writers change: each kind has keys, and each key a state, a version or `absent`. A change asks for a new state;
 * after a restart every key must be in the state that was acknowledged last, or in the one that was asked for since.
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
  /** @param stateOf the state that was acknowledged last */
  change(choose: Choose, version: number, stateOf: (key: string) => string): Change
  /** The states of all keys that are there. */
  observe(target: Target): Promise<ReadonlyMap<string, string>>
}

/** A whole number below the bound. */
export type Choose = (bound: number) => number

/** @returns the version that each group of rows `[key, version]` has in common, if it has as many rows as it should */
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
