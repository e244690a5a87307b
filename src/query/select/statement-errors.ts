import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { KNOWLEDGE_BASE_COLUMNS } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import { nearestName } from '../../core/short-text.ts'
import { caretAt, excerptAt } from '../../sql/ast/placed-error.ts'
import type { Statement } from '../../sql/dialect/parse-statement.ts'
import { lineAndColumn, type Token, tokenize } from '../../sql/lexer/tokens.ts'
import { optionHint } from '../../sql/search/search-options.ts'

/** An inner SELECT's line and column become those in the whole statement. */
export function inWhole(error: unknown, whole: string, statement: Statement): unknown {
  if (!(error instanceof AppError)) return error
  const place = placeNamed(error)
  if (place === undefined || isPlaceIn(whole, place)) return error
  for (const { text, start } of innerTexts(statement, whole)) {
    if (!isPlaceIn(text, place)) continue
    return placedAt(error, place, { whole, at: start + offsetIn(text, place) })
  }
  return error
}

/** Yields the texts inside a statement; for a job, each of its statements. */
function* innerTexts(
  statement: Statement,
  whole: string,
): Generator<
  {
    readonly text: string
    readonly start: number
  },
  void
> {
  const isJob = statement.kind === 'create_job'
  let from = 0
  for (const text of selectsIn(statement)) {
    // The statements of a job follow each other; any other inner SELECT is at the end.
    const start = isJob ? whole.indexOf(text, from) : whole.lastIndexOf(text)
    if (start === -1) continue
    yield { text, start }
    if (!isJob) continue
    from = start + text.length
    let partStart = start
    for (const part of text.split(';')) {
      const own = part.trimStart()
      yield { text: own, start: partStart + part.length - own.length }
      partStart += part.length + 1
    }
  }
}

const FIELDS_OF_SELECTS: ReadonlySet<string> = new Set([
  ...['select', 'source', 'query', 'ifQuery', 'where', 'options', 'questions'],
])

function* selectsIn(statement: object): Generator<string, void> {
  for (const [name, value] of Object.entries(statement)) {
    if (!FIELDS_OF_SELECTS.has(name)) continue
    if (typeof value === 'string') yield value
    else if (typeof value === 'object' && value !== null) yield* selectsIn(value)
  }
}

interface NamedPlace {
  readonly line: number
  /** In characters (code points), counted from 1. */
  readonly column: number
  /** The line of the text, or a part of it; empty if not shown. */
  readonly shown: string
  /** The number of characters in the excerpt before the position. */
  readonly leadChars: number
  /** What the message quotes from the text at the position, if anything. */
  readonly said: string | undefined
}

const ERROR_PLACE = /^line (\d+), column (\d+):(?: ([^\n]*))?(?:\n([^\n]*)\n( *)\^)?/

/** Parses a position as `excerptAt` writes it. A syntax error from DuckDB starts with one. */
function placeNamed({ message, excerpt }: AppError): NamedPlace | undefined {
  const isInMessage = ERROR_PLACE.test(message)
  const text = isInMessage ? message : (excerpt ?? '')
  const [found, line, column, said, shown = '', lead = ''] = ERROR_PLACE.exec(text) ?? []
  if (found === undefined) return undefined
  return {
    line: Number(line),
    column: Number(column),
    shown,
    leadChars: lead.length,
    said: isInMessage ? (said ?? '') : undefined,
  }
}

/** The position alone does not show which text it refers to. */
function isPlaceIn(text: string, place: NamedPlace): boolean {
  const { column, shown, leadChars } = place
  const at = offsetIn(text, { ...place, column: Math.max(1, column - leadChars) })
  return text.slice(at, at + shown.length).replaceAll(/[\t\r\0]/g, ' ') === shown
}

/** In code units, and at most the length of the text. */
function offsetIn(text: string, { line, column }: Pick<NamedPlace, 'line' | 'column'>): number {
  let at = 0
  for (let before = 1; before < line; before += 1) {
    const end = text.indexOf('\n', at)
    if (end === -1) return text.length
    at = end + 1
  }
  for (let before = 1; before < column && at < text.length; before += 1) {
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  }
  return at
}

function placedAt(
  { code, title, message, cause }: AppError,
  { said }: NamedPlace,
  { whole, at }: { readonly whole: string; readonly at: number },
): AppError {
  if (said === undefined) {
    const excerpt = excerptAt(whole, [...whole.slice(0, at)].length)
    return new AppError(code, message, { title, excerpt, cause })
  }
  const excerpt = caretAt(whole, at)
  return new AppError(code, `${lineAndColumn(whole, at)}: ${said}`, {
    title,
    cause,
    ...(excerpt === undefined ? {} : { excerpt }),
  })
}

/** With the nearest name of an unknown column, and its position in the client's text. */
export function withColumnHint(error: AppError, sql: string, snapshot: CatalogSnapshot): AppError {
  const name = UNKNOWN_COLUMN.exec(error.message)?.[1]
  if (name === undefined) return error
  const tokens = nameTokens(sql)
  const nearest = nearestName(name, columnsOfNamed(tokens, snapshot))
  const suggestion = nearest === undefined ? undefined : `Did you mean "${nearest}"?`
  const advice = lastHint(name) ?? optionHint(name) ?? suggestion
  const hint = advice === undefined ? '' : `. ${advice}`
  const token = tokens.find(({ value }) => value.toLowerCase() === name.toLowerCase())
  const excerpt = token && excerptAt(sql, [...sql.slice(0, token.start)].length)
  return new AppError('sql_unknown_name', `Column "${name}" does not exist${hint}`, {
    cause: error,
    ...(excerpt === undefined ? {} : { excerpt }),
  })
}

function lastHint(name: string): string | undefined {
  if (name.toLowerCase() !== 'last') return undefined
  return 'LAST is the highest value a job has read so far: only statements of CREATE JOB have it'
}

/** DuckDB's wording. */
const UNKNOWN_COLUMN = /(?:Referenced column|have a column named) "([^"]+)"/

function nameTokens(sql: string): readonly Token[] {
  try {
    return tokenize(sql).filter(({ kind }) => kind === 'word' || kind === 'name')
  } catch {
    return []
  }
}

/** The columns of every relation with one of these names, in any project. */
function columnsOfNamed(tokens: readonly Token[], snapshot: CatalogSnapshot): readonly string[] {
  const names = new Set(tokens.map(({ value }) => value.toLowerCase()))
  const isNamed = ({ name }: { readonly name: string }) => names.has(name.toLowerCase())
  return [
    ...snapshot.knowledgeBases
      .filter(isNamed)
      .flatMap((kb) => [
        ...kb.storedMetadata.map((column) => column.name),
        ...(kb.metadataColumns ?? []),
        ...KNOWLEDGE_BASE_COLUMNS,
        'content',
      ]),
    ...snapshot.files.filter(isNamed).flatMap((file) => file.columns),
    ...[...snapshot.views, ...snapshot.tables].filter(isNamed).flatMap((relation) => {
      return relation.columns.map((column) => column.name)
    }),
  ]
}
