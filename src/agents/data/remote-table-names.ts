/** Resolves which tables of data sources an agent's `data` names, at the start of a question. */

import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { Agent } from '../../core/domain/agents/agent.ts'
import { AGENT_LIMITS } from '../../core/domain/agents/agent-limits.ts'
import type { DataSource, SourceTable } from '../../core/domain/flow/source-parameters.ts'
import { shownTableName } from '../../core/domain/flow/source-parameters.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { DataSources } from '../../core/domain/ports/engine-ports.ts'
import { AppError, hasCode, toAppError } from '../../core/errors.ts'
import { abortable, withDeadline } from '../../core/runtime/cancellation.ts'

export interface RemoteTableNames {
  /** Tables by pattern: `<data source>.<table>` or `<data source>.<schema>.<table>`. */
  readonly byPattern: ReadonlyMap<string, readonly string[]>
  readonly warnings: readonly string[]
}

export const NO_REMOTE_TABLES: RemoteTableNames = { byPattern: new Map(), warnings: [] }

export type ListingSources = Pick<DataSources, 'tables' | 'columns'>

/** A source that does not answer gives a warning, and its names without wildcards stay allowed. */
export async function remoteTableNames(
  agent: Pick<Agent, 'data'>,
  { dataSources }: Pick<CatalogSnapshot, 'dataSources'>,
  sources: ListingSources,
  signal: AbortSignal,
): Promise<RemoteTableNames> {
  const patterns = (agent.data?.tables ?? []).map(patternOf).filter(({ rest }) => rest !== '')
  const asked = dataSources.flatMap((source) => {
    const own = patterns.filter((pattern) => matchesGlob(pattern.source, source.name))
    return own.length === 0 ? [] : [{ source, own }]
  })
  if (asked.length === 0) return NO_REMOTE_TABLES
  const found = await Promise.all(
    asked.map(async ({ source, own }) => {
      try {
        return await withDeadline(
          { timeoutMs: AGENT_LIMITS.listingMs, signal, timeoutError: noAnswer },
          (deadline) => abortable(remoteTables(source, own, sources, deadline), deadline),
        )
      } catch (error) {
        signal.throwIfAborted()
        const why = toAppError(error).message
        const entries = own.map(({ text, rest }) => {
          return { text, names: isGlob(rest) ? [] : [`${source.name}.${rest}`] }
        })
        const warnings = [`Database ${source.name} could not list its tables: ${why}`]
        return { entries, warnings }
      }
    }),
  )
  const byPattern = new Map<string, string[]>()
  for (const { text, names } of found.flatMap(({ entries }) => entries)) {
    byPattern.set(text, [...(byPattern.get(text) ?? []), ...names])
  }
  return { byPattern, warnings: found.flatMap(({ warnings }) => warnings) }
}

interface Pattern {
  readonly text: string
  readonly source: string
  readonly rest: string
}

function patternOf(text: string): Pattern {
  const [source = '', ...rest] = text.split('.')
  return { text, source, rest: rest.join('.') }
}

function isGlob(text: string): boolean {
  return /[*?]/.test(text)
}

function noAnswer(ms: number): AppError {
  return new AppError('source_failed', `no answer within ${ms / 1000} s`)
}

interface Found {
  readonly entries: readonly { readonly text: string; readonly names: readonly string[] }[]
  readonly warnings: readonly string[]
}

async function remoteTables(
  source: DataSource,
  patterns: readonly Pattern[],
  sources: ListingSources,
  signal: AbortSignal,
): Promise<Found> {
  const listed = await sources.tables(source, signal)
  // Skips names with a dot, which could be read as a table in another schema.
  const tables = listed.filter(({ schema, name }) => !`${schema ?? ''}${name}`.includes('.'))
  const warnings: string[] = []
  if (tables.length < listed.length) {
    const count = listed.length - tables.length
    warnings.push(
      `Database ${source.name}: ${count} tables are left out, because their names contain a dot`,
    )
  }
  let room = AGENT_LIMITS.sourceTablesMax
  const entries: Found['entries'][number][] = []
  for (const { text, rest } of patterns) {
    const matches = tables.map(shownTableName).filter((name) => matchesGlob(rest, name))
    const names =
      matches.length > 0 ? matches : await otherwiseNamed(source, { rest, tables }, sources, signal)
    const kept = names.slice(0, room)
    room -= kept.length
    if (kept.length < names.length) {
      const max = AGENT_LIMITS.sourceTablesMax
      warnings.push(`${text} matches ${names.length} tables; an agent can read at most ${max}`)
    }
    entries.push({ text, names: kept.map((name) => `${source.name}.${name}`) })
  }
  return { entries, warnings }
}

/** Lists leave out a source's default schema, but patterns may include it, and vice versa. */
async function otherwiseNamed(
  source: DataSource,
  { rest, tables }: { readonly rest: string; readonly tables: readonly SourceTable[] },
  sources: ListingSources,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [first = '', second] = rest.split('.')
  const exists = async (schema: string | null, name: string) => {
    try {
      await sources.columns(source, { schema, name }, signal)
      return true
    } catch (error) {
      if (hasCode(error, 'table_not_found')) return false
      throw error
    }
  }
  if (second === undefined) {
    return !isGlob(first) && (await exists(null, first)) ? [first] : []
  }
  if (isGlob(first)) return []
  const inFirst = tables.filter(({ schema, name }) => {
    return schema === null && matchesGlob(second, name)
  })
  const [one] = inFirst
  // A name that is not listed belongs to the default schema, if that has such a table.
  if (one === undefined || !(await exists(first, one.name))) return []
  return inFirst.map(({ name }) => `${first}.${name}`)
}

/** Matches `*` and `?`, ignoring case, in at most pattern × name steps. */
export function matchesGlob(pattern: string, name: string): boolean {
  const patternChars = [...nameKey(pattern)]
  const nameChars = [...nameKey(name)]
  let patternIndex = 0
  let nameIndex = 0
  let starIndex = -1
  let starNameIndex = 0
  while (nameIndex < nameChars.length) {
    const char = patternChars[patternIndex]
    if (char === '*') {
      starIndex = patternIndex
      starNameIndex = nameIndex
      patternIndex += 1
    } else if (char === '?' || char === nameChars[nameIndex]) {
      patternIndex += 1
      nameIndex += 1
    } else if (starIndex !== -1) {
      // Lets the last star match one more character.
      starNameIndex += 1
      nameIndex = starNameIndex
      patternIndex = starIndex + 1
    } else {
      return false
    }
  }
  return patternChars.slice(patternIndex).every((char) => char === '*')
}
