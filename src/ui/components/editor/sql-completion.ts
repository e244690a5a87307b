/** What may stand at a place in a statement: names of the catalog, functions, words. Pure: the editor asks it at each key. */

import { written } from '../../api/sql.ts'

export interface CatalogNames {
  /** A namespace, and the tables in it. */
  readonly tables: readonly TableNames[]
  readonly functions: readonly string[]
}

export interface TableNames {
  readonly schema: string
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

export interface SqlOption {
  readonly label: string
  /** What is written, where it is not the label: a name in quotes. */
  readonly insert?: string
  readonly kind: 'table' | 'column' | 'schema' | 'function' | 'keyword' | 'option'
  readonly detail?: string
  readonly info?: string
  /** Higher comes first. */
  readonly rank?: number
}

export interface SqlCompletion {
  /** Where what was typed of it begins. */
  readonly from: number
  readonly options: readonly SqlOption[]
  /** Something of this list is meant here, even before a letter was typed. */
  readonly isExpected: boolean
}

export type CompleteSql = (text: string, at: number) => SqlCompletion | undefined

const WORDS = [
  'SELECT',
  'FROM',
  'WHERE',
  'GROUP BY',
  'ORDER BY',
  'LIMIT',
  'HAVING',
  'JOIN',
  'LEFT JOIN',
  'USING',
  'WITH',
  'UNION ALL',
  'DISTINCT',
  'CASE',
  'WHEN',
  'BETWEEN',
  'DESC',
  'SHOW KNOWLEDGE BASES',
  'SHOW AGENTS',
  'CREATE KNOWLEDGE_BASE',
  'CREATE AGENT',
  'CREATE VIEW',
  'EVALUATE KNOWLEDGE_BASE',
  'EXPLAIN',
  'DESCRIBE',
  'INSERT INTO',
]

/** Columns that searches of a knowledge base understand in a WHERE, and what they do. */
const SEARCH_OPTIONS: readonly (readonly [string, string])[] = [
  ['content', "ranks by meaning: content = 'text'"],
  ['relevance', 'how near a chunk is, 0 to 1'],
  ['distance', 'how far its vector is'],
  ['hybrid_search', 'true: by keywords, too'],
  ['hybrid_search_alpha', 'the weight of the meaning, 0 to 1'],
  ['reranking', 'false: without the reranking model'],
]

/** Words after which a table comes. */
const BEFORE_TABLE = /\b(from|join|into|update|describe|table|knowledge_base|agent)\s+$/i
const LAST_WORD = /[\p{L}\p{N}_$]*$/u

export function sqlCompletion(names: CatalogNames): CompleteSql {
  return (text, at) => {
    const before = text.slice(0, at)
    if (isInText(before)) return undefined
    const typed = LAST_WORD.exec(before)?.[0] ?? ''
    const from = at - typed.length
    const lead = before.slice(0, from)
    const owner = /([\p{L}\p{N}_$]+|"(?:[^"]|"")+")\.$/u.exec(lead)?.[1]
    if (owner !== undefined)
      return { from, options: ownedBy(plain(owner), text, names), isExpected: true }
    if (BEFORE_TABLE.test(lead)) return { from, options: allTables(names), isExpected: true }
    return { from, options: anything(text, names), isExpected: false }
  }
}

/** What follows `a.`: tables of a namespace, columns of a table or of its alias. */
function ownedBy(owner: string, text: string, names: CatalogNames): readonly SqlOption[] {
  const tables = names.tables.filter(({ schema }) => same(schema, owner)).map(tableOption)
  if (tables.length > 0) return tables
  const alias = new RegExp(`([\\p{L}\\p{N}_$.]+)\\s+(?:as\\s+)?${owner}\\b`, 'iu').exec(text)?.[1]
  const meant = alias?.split('.').at(-1) ?? owner
  return names.tables.filter(({ name }) => same(name, owner) || same(name, meant)).flatMap(columns)
}

function anything(text: string, names: CatalogNames): readonly SqlOption[] {
  const named = names.tables.filter(({ name }) => {
    return new RegExp(`(^|[^\\p{L}\\p{N}_])${escaped(name)}($|[^\\p{L}\\p{N}_])`, 'iu').test(text)
  })
  const options = SEARCH_OPTIONS.map(([label, info]): SqlOption => {
    return { label, kind: 'option', info, rank: 1 }
  })
  return [
    ...named.flatMap(columns),
    ...(named.length > 0 ? options : []),
    ...WORDS.map((label): SqlOption => ({ label, kind: 'keyword' })),
    ...allTables(names),
    ...names.functions.map((name): SqlOption => {
      return { label: name, insert: `${name}(`, kind: 'function', rank: -1 }
    }),
  ]
}

function allTables(names: CatalogNames): readonly SqlOption[] {
  const schemas = [...new Set(names.tables.map(({ schema }) => schema))]
  return [
    ...names.tables.map(tableOption),
    ...schemas.map((label): SqlOption => ({ label, insert: written(label), kind: 'schema' })),
  ]
}

function tableOption({ schema, name }: TableNames): SqlOption {
  return { label: name, insert: written(name), kind: 'table', detail: schema, rank: 1 }
}

function columns({ name, columns }: TableNames): readonly SqlOption[] {
  return columns.map((column) => ({
    label: column.name,
    insert: written(column.name),
    kind: 'column',
    detail: column.type,
    info: `of ${name}`,
    rank: 2,
  }))
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

/** Within quotes of a text, or a comment, nothing is completed. */
function isInText(before: string): boolean {
  const rest = before
    .replaceAll(/--[^\n]*\n/g, '')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/'(?:[^']|'')*'/g, '')
  return /'|--|\/\*/.test(rest)
}
