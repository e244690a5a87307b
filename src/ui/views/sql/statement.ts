/**
 * Finds the statement to run in a text, its parameters, its link, and the position of its error.
 * Pure functions.
 */

import { parsedJson } from '../../../core/json.ts'
import {
  codeOf,
  type Span,
  statementsOf,
  withoutComments,
} from '../../components/editor/sql-code.ts'
import type { Order } from '../../components/table/table-model.ts'

/** The selection, otherwise the statement at the cursor. */
export function meantStatement(text: string, { from, to }: Span): Span | undefined {
  if (text.slice(from, to).trim() !== '') return { from, to }
  const all = statementsOf(text)
  return all.find((span) => from <= span.to + 1) ?? all.at(-1)
}

/** The names of all `:name` parameters in a statement, each once. */
export function parametersOf(sql: string): readonly string[] {
  const found = [...codeOf(sql).matchAll(/(?<![:\w]):([a-z_]\w*)/gi)].map(([, name = '']) => name)
  return [...new Set(found)]
}

/** Whether a statement neither creates nor drops anything. For links, the server decides. */
export function isReading(sql: string): boolean {
  return /^\(*\s*(select|with|show|describe|from|values|explain|set|use)\b/i.test(
    withoutComments(sql),
  )
}

/** The position in the statement that an error message refers to; undefined if there is none. */
export function placeOfError(message: string, sql: string): Span | undefined {
  const at = placeNamed(message, sql) ?? placeOfName(message, sql)
  if (at === undefined) return undefined
  const word = /^(?:"[^"\n]+"|:?[\p{L}\p{N}_]+|.)/u.exec(sql.slice(at))?.[0] ?? ''
  return { from: at, to: at + word.length }
}

/** And the line with a caret below. Columns count characters; an emoji is one. */
function placeNamed(message: string, sql: string): number | undefined {
  const named = /^line (\d+), column (\d+)[^\n]*(?:\n([^\n]*)\n( *)\^)?/m.exec(message)
  if (named === null) return undefined
  const [, line, column, excerpt = '', lead = ''] = named
  const lines = sql.split('\n')
  const before = lines.slice(0, Number(line) - 1)
  const start = before.reduce((sum, one) => sum + one.length + 1, 0)
  const told = start + unitsOf(lines[Number(line) - 1] ?? '', Number(column) - 1)
  // In a nested SELECT, columns may count from its own start, which the excerpt shows.
  const inExcerpt = unitsOf(excerpt, lead.length)
  if (excerpt.trim() === '' || sql.startsWith(excerpt, told - inExcerpt)) {
    return Math.min(told, sql.length)
  }
  const found = sql.indexOf(excerpt)
  return found === -1 ? undefined : found + inExcerpt
}

/** The length of the first characters in code units. */
function unitsOf(text: string, chars: number): number {
  return [...text].slice(0, chars).join('').length
}

/** The position of the quoted name, or of the missing parameter, in the error message. */
function placeOfName(message: string, sql: string): number | undefined {
  const [head = ''] = message.split('\n')
  const [, parameter] = /^Parameter is not set: (\w+)/.exec(head) ?? []
  if (parameter !== undefined) return foundAt(sql, new RegExp(`:${parameter}\\b`, 'i'))
  const [, name] = /["']([\p{L}\p{N}_]+)["']/u.exec(head) ?? []
  if (name === undefined) return undefined
  return foundAt(sql, new RegExp(`(?<![\\p{L}\\p{N}_])${name}(?![\\p{L}\\p{N}_])`, 'iu'))
}

function foundAt(sql: string, pattern: RegExp): number | undefined {
  const at = codeOf(sql).search(pattern)
  if (at !== -1) return at
  const anywhere = sql.search(pattern)
  return anywhere === -1 ? undefined : anywhere
}

/** The statement with its rows in another order; undefined if they cannot be sorted. */
export function sortedStatement(sql: string, order: Order): string | undefined {
  if (!/^\(*\s*(select|with|from|values)\b/i.test(withoutComments(sql))) return undefined
  const direction = order.isDescending ? 'DESC' : 'ASC'
  // The line break keeps a comment at the end from hiding the parenthesis.
  return `SELECT * FROM (${sql}\n) ORDER BY ${order.column + 1} ${direction} NULLS LAST`
}

/** The typed values of all `:name`. */
export type Parameters = Readonly<Record<string, string>>

/** JSON, such as `10`, `null` or `["a", "b"]`, is sent as what it means, all else as a text. */
export function parameterValue(typed: string): unknown {
  const value = parsedJson(typed)
  // Larger integers are sent as digits, because the server reads any number of them.
  const isRounded = typeof value === 'number' && !isExact(typed, value)
  return value === undefined || isRounded ? typed : value
}

function isExact(typed: string, number: number): boolean {
  return /^\s*-?\d+\s*$/.test(typed) ? Number.isSafeInteger(number) : Number.isFinite(number)
}

/** Describes a value: `the number 10`, `null` or `text`. */
export function saidOfValue(value: unknown): string {
  if (value === null) return 'null'
  if (value === '') return 'empty text'
  if (Array.isArray(value)) return `a list of ${value.length}`
  const words: Readonly<Record<string, string>> = { object: 'a JSON object', string: 'text' }
  return words[typeof value] ?? `the ${typeof value} ${String(value)}`
}

export function valuesOf(typed: Parameters, names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, parameterValue(typed[name] ?? '')]))
}

export interface LinkedStatement {
  readonly sql: string
  readonly project: string
  readonly params: Parameters
  /** Whether a chart is beside the rows. */
  readonly hasChart: boolean
  /** How the chart differs from the suggested one. */
  readonly chart: Readonly<Record<string, string>>
}

/** Proxies and servers accept URLs of up to about this length. */
const QUERY_CHARS_MAX = 4000
/** The part after `#` stays in the browser, but mail and chat programs truncate long URLs. */
const LINK_CHARS_MAX = 100_000

/** @returns undefined if the link would be too long */
export function linkOf(tab: LinkedStatement, origin: string): string | undefined {
  const words = new URLSearchParams({ q: tab.sql, project: tab.project, run: '1' })
  for (const [name, typed] of Object.entries(tab.params)) words.set(`p.${name}`, typed)
  if (tab.hasChart) words.set('as', 'Chart')
  for (const [name, value] of Object.entries(tab.chart)) words.set(`chart.${name}`, value)
  const text = String(words)
  if (text.length > LINK_CHARS_MAX) return undefined
  return `${origin}/sql${text.length > QUERY_CHARS_MAX ? '#' : '?'}${text}`
}

export interface OpenedLink extends Partial<LinkedStatement> {
  readonly sql: string
  /** Whether to run the statement right away, if the server finds that it only reads. */
  readonly isRun: boolean
}

/** @param words the part after `?` or `#` */
export function linked(words: string): OpenedLink | undefined {
  const read = new URLSearchParams(words)
  const sql = read.get('q')
  if (sql === null || sql === '') return undefined
  const project = read.get('project')
  const prefixed = (prefix: string) => {
    const found = [...read].filter(([name]) => name.startsWith(prefix))
    return Object.fromEntries(found.map(([name, value]) => [name.slice(prefix.length), value]))
  }
  return {
    sql,
    isRun: read.get('run') === '1',
    params: prefixed('p.'),
    chart: prefixed('chart.'),
    hasChart: read.get('as') === 'Chart',
    ...(project ? { project } : {}),
  }
}
