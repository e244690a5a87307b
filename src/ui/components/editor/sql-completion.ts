/** What may stand at a place in a statement: names of the catalog, functions, words, options. Pure: the editor asks it at each key. */
import { written } from '../../api/sql.ts'
import { codeOf, endsInText, statementsOf } from './sql-code.ts'
import {
  CLAUSES,
  type GrammarOption,
  optionsAfterUsing,
  optionsOfTable,
  STATEMENTS,
} from './sql-grammar.ts'

interface CatalogNames {
  /** A namespace, and the tables in it. */
  readonly tables: readonly TableNames[]
  readonly functions: readonly FunctionNames[]
}

interface TableNames {
  readonly schema: string
  readonly name: string
  /** `KNOWLEDGE BASE`, `AGENT`, `VIEW`, `BASE TABLE`. */
  readonly kind: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

interface FunctionNames {
  readonly name: string
  readonly kind: string
  /** `round(x, precision) → DOUBLE`. */
  readonly signatures: readonly string[]
  readonly description: string | null
  readonly example: string | null
}

interface SqlOption {
  readonly label: string
  /** What is written, where it is not the label: a name in quotes. */
  readonly insert?: string
  readonly kind: 'table' | 'column' | 'schema' | 'function' | 'keyword' | 'option'
  readonly detail?: string
  readonly info?: string
  /** Higher comes first. */
  readonly rank?: number
}

interface SqlCompletion {
  /** Where what was typed of it begins. */
  readonly from: number
  readonly options: readonly SqlOption[]
  /** Something of this list is meant here, even before a letter was typed. */
  readonly isExpected: boolean
}

export type CompleteSql = (text: string, at: number) => SqlCompletion | undefined

/** Words after which a table comes, and of which kind. */
const BEFORE_TABLE: readonly (readonly [RegExp, string])[] = [
  [/\b(knowledge_base|refresh|vacuum)\s+$/i, 'KNOWLEDGE BASE'],
  [/\bagent\s+$/i, 'AGENT'],
  [/\b(view)\s+$/i, 'VIEW'],
  [/\b(from|join|into|update|describe|table)\s+$/i, ''],
  [/\bfrom\s+[^()]*,\s*$/i, ''],
]
const LAST_WORD = /[\p{L}\p{N}_$]*$/u
const SIGNATURES_SHOWN = 6

export function sqlCompletion(names: CatalogNames): CompleteSql {
  const functions = names.functions.map(functionOption)
  return (text, at) => {
    const before = text.slice(0, at)
    if (endsInText(before)) return undefined
    const typed = LAST_WORD.exec(before)?.[0] ?? ''
    const from = at - typed.length
    const statement = statementAround(text, at)
    const lead = text.slice(statement.from, from)
    const code = codeOf(lead)
    const owner = /([\p{L}\p{N}_$]+|"(?:[^"]|"")+")\.$/u.exec(lead)?.[1]
    if (owner !== undefined) {
      return { from, options: ownedBy(plain(owner), statement.text, names), isExpected: true }
    }
    const begun = `${code}${typed}`.trimStart().toUpperCase()
    const phrases = STATEMENTS.filter((phrase) => phrase.startsWith(begun) && phrase !== begun)
    if (phrases.length > 0 || code.trim() === '') {
      const isExpected = code.trim() !== ''
      return { from: statement.from, options: words(STATEMENTS), isExpected }
    }
    const [, kind] = BEFORE_TABLE.find(([word]) => word.test(code)) ?? []
    if (kind !== undefined && !isNewName(code)) {
      const options = [...tablesOf(names, kind), ...ownNames(statement.text)]
      return { from, options, isExpected: true }
    }
    const settings = optionsAfterUsing(code)
    if (settings !== undefined && !/=\s*[^,]*$/.test(code)) {
      return { from, options: settings.map(grammarOption), isExpected: true }
    }
    return { from, options: [...anything(statement.text, names), ...functions], isExpected: false }
  }
}

/** The one that is written at: names of others mean nothing to it. */
function statementAround(text: string, at: number) {
  const spans = statementsOf(text)
  const index = spans.findIndex(({ to }) => at <= to)
  const found = spans[index === -1 ? spans.length - 1 : index]
  const isBehindEnd =
    found !== undefined && at > found.to && codeOf(text).slice(found.to, at).includes(';')
  if (found === undefined || isBehindEnd || at < found.from) return { from: at, text: '' }
  return { from: found.from, text: text.slice(found.from, Math.max(found.to, at)) }
}

/** What is created has no name yet. */
function isNewName(code: string): boolean {
  return /^create\b(?!.*\b(from|join|into|as)\b)(?!.*\bindex\b)/is.test(code.trim())
}

/** What follows `a.`: tables of a namespace, columns of a table, of its alias, or of what the statement makes for itself. */
function ownedBy(owner: string, text: string, names: CatalogNames): readonly SqlOption[] {
  const tables = names.tables.filter(({ schema }) => same(schema, owner)).map(tableOption)
  if (tables.length > 0) return tables
  // Of `SELECT k.id FROM teas k`, what stands before `k.` is no table.
  const aliases = text.matchAll(
    new RegExp(
      `([\\p{L}\\p{N}_$.]+|"(?:[^"]|"")+")\\s+(?:as\\s+)?"?${escaped(owner)}"?(?![\\p{L}\\p{N}_.])`,
      'giu',
    ),
  )
  const meant = [...aliases].map(([, table = '']) => plain(table.split('.').at(-1) ?? ''))
  const isMeant = ({ name }: TableNames) => [owner, ...meant].some((one) => same(one, name))
  return [
    ...[owner, ...meant].flatMap((one) => columnsOfOwn(one, text)),
    ...names.tables
      .filter(isMeant)
      .flatMap((table) => [...columns(table), ...optionsOfTable(table.kind).map(columnLike)]),
  ]
}

/** The columns that a sub-query of this name has by `AS`, or as its last words: `WITH name AS (…)`, `(…) AS name`. */
function columnsOfOwn(name: string, text: string): readonly SqlOption[] {
  const code = codeOf(text)
  const word = escaped(name)
  const before = new RegExp(`\\b${word}\\s+as\\s*(?:materialized\\s*)?\\(`, 'iu').exec(code)
  const behind = new RegExp(`\\)\\s*(?:as\\s+)?${word}(?![\\p{L}\\p{N}_.])`, 'iu').exec(code)
  if (before !== null) return selected(code.slice(before.index + before[0].length))
  return behind === null ? [] : selected(code.slice(openOf(code, behind.index) + 1))
}

/** Where the parenthesis begins that ends there. */
function openOf(code: string, close: number): number {
  let depth = 0
  for (let at = close; at >= 0; at -= 1) {
    if (code[at] === ')') depth += 1
    if (code[at] === '(') depth -= 1
    if (depth === 0) return at
  }
  return code.length
}

/** The names behind a SELECT, up to its FROM or to the parenthesis that closes. */
function selected(code: string): readonly SqlOption[] {
  const list = /^\s*select\s+(?:distinct\s+)?/i.exec(code)
  if (list === null) return []
  const items = ['']
  let depth = 0
  for (const [piece] of code.slice(list[0].length).matchAll(/[\p{L}\p{N}_$]+|[^\p{L}\p{N}_$]/gu)) {
    if (piece === '(') depth += 1
    if (piece === ')') depth -= 1
    if (depth < 0 || (depth === 0 && /^(from|where|limit|union)$/i.test(piece))) break
    if (depth === 0 && piece === ',') items.push('')
    else items.push(`${items.pop() ?? ''}${piece}`)
  }
  return items.flatMap((item): readonly SqlOption[] => {
    const label = /([\p{L}_][\p{L}\p{N}_]*)\s*$/u.exec(item)?.[1]
    return label === undefined ? [] : [{ label, kind: 'column', detail: 'here', rank: 3 }]
  })
}

/** `distance` of a search is a column of it. */
function columnLike({ name, info }: GrammarOption): SqlOption {
  return { label: name, kind: 'option', info }
}

function anything(text: string, names: CatalogNames): readonly SqlOption[] {
  const named = names.tables.filter(({ name }) => {
    return new RegExp(`(^|[^\\p{L}\\p{N}_])${escaped(name)}($|[^\\p{L}\\p{N}_])`, 'iu').test(text)
  })
  const kinds = new Set(named.map(({ kind }) => kind))
  return [
    ...named.flatMap(columns),
    ...[...kinds].flatMap(optionsOfTable).map(grammarOption),
    ...words(CLAUSES),
    ...ownNames(text),
    ...allTables(names),
  ]
}

/** Tables that the statement makes for itself: `WITH name AS`. */
function ownNames(text: string): readonly SqlOption[] {
  const found = codeOf(text).matchAll(
    /(?:\bwith(?:\s+recursive)?|,)\s+(\w+)\s+as\s*(?:materialized\s*)?\(/gi,
  )
  return [...found].map(([, label = '']) => ({ label, kind: 'table', detail: 'here', rank: 2 }))
}

function tablesOf(names: CatalogNames, kind: string): readonly SqlOption[] {
  if (kind === '') return allTables(names)
  return names.tables.filter((table) => table.kind === kind).map(tableOption)
}

function allTables(names: CatalogNames): readonly SqlOption[] {
  const schemas = [...new Set(names.tables.map(({ schema }) => schema))]
  return [
    ...names.tables.map(tableOption),
    ...schemas.map((label): SqlOption => ({ label, insert: written(label), kind: 'schema' })),
  ]
}

function tableOption({ schema, name, kind }: TableNames): SqlOption {
  const detail = kind === '' ? schema : `${schema}, ${kind.toLowerCase()}`
  // A file is named with its database.
  const insert = same(schema, 'files') ? `files.${written(name)}` : written(name)
  return { label: name, insert, kind: 'table', detail, rank: 1 }
}

function columns({ schema, name, columns }: TableNames): readonly SqlOption[] {
  return columns.map((column) => ({
    label: column.name,
    insert: written(column.name),
    kind: 'column',
    detail: column.type,
    info: `of ${schema}.${name}`,
    rank: 3,
  }))
}

function grammarOption({ name, insert, info }: GrammarOption): SqlOption {
  return { label: name, insert, kind: 'option', info, rank: 2 }
}

function words(list: readonly string[]): readonly SqlOption[] {
  return list.map((label) => ({ label, kind: 'keyword' }))
}

function functionOption(one: FunctionNames): SqlOption {
  const { name, kind, signatures, description, example } = one
  const [shortest = ''] = signatures
  const info = [
    ...signatures.slice(0, SIGNATURES_SHOWN),
    ...(description === null ? [] : ['', description]),
    ...(example === null ? [] : ['', `For example ${example}`]),
  ]
  const detail = kind === 'scalar' ? shortest.slice(name.length) : kind
  return {
    label: name,
    insert: `${name}(`,
    kind: 'function',
    detail,
    info: info.join('\n'),
    rank: -1,
  }
}

function plain(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
