import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { KNOWLEDGE_BASE_COLUMNS } from '../../core/domain/knowledge-base.ts'
import { literal, nameKey, quote } from '../../core/domain/names.ts'
import { fileKey, namesWithoutEnding, tablesOfFile } from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import { didYouMean, nearestName } from '../../core/short-text.ts'
import { lineAndColumn } from '../../core/text/shown-statement.ts'
import { caretAt, excerptAt } from '../../sql/ast/placed-error.ts'
import { plainTokens } from '../../sql/lexer/statement-shape.ts'
import { isName, type Token } from '../../sql/lexer/tokens.ts'
import { optionHint } from '../../sql/search/search-options.ts'

/**
 * A position as `excerptAt` writes it: in the excerpt, or in the message, as DuckDB's syntax errors
 * have it.
 */
const PLACE = /^line (\d+), column (\d+):(?: ([^\n]*))?\n([^\n]*)\n( *)\^/

/**
 * The line and column of an error in an inner SELECT become those in the whole statement, where the
 * line that it shows first occurs.
 */
export function inWhole(error: unknown, whole: string): unknown {
  if (!(error instanceof AppError)) return error
  const { code, title, message, excerpt, cause } = error
  const place = PLACE.exec(message) ?? PLACE.exec(excerpt ?? '')
  if (place === null) return error
  const [found, line, column, said, shown = '', lead = ''] = place
  const text = whole.replaceAll(/[\t\r\0]/g, ' ')
  const named = [...(text.split('\n')[Number(line) - 1] ?? '')]
  const isInWhole = named
    .slice(Number(column) - 1 - lead.length)
    .join('')
    .startsWith(shown)
  const start = text.indexOf(shown)
  if (isInWhole || start === -1) return error
  const at = start + [...shown].slice(0, lead.length).join('').length
  if (!message.startsWith(found)) {
    const placed = excerptAt(whole, [...whole.slice(0, at)].length)
    return new AppError(code, message, { title, excerpt: placed, cause })
  }
  const placed = `${lineAndColumn(whole, at)}: ${said ?? ''}`
  return new AppError(code, placed, { title, excerpt: caretAt(whole, at), cause })
}

/** Says how to write a column or a file, such as `Customer No.`, whose quotes are missing. */
export function withQuotesHint(error: AppError, sql: string, snapshot: CatalogSnapshot): AppError {
  const text = sql.toLowerCase()
  const names = [
    ...columnsOfNamed(nameTokens(sql), snapshot),
    ...snapshot.files.flatMap(tablesOfFile).map(({ name }) => name),
  ]
  const bare = names.find((name) => {
    const at = /[^\p{L}\p{N}_]/u.test(name) ? text.indexOf(name.toLowerCase()) : -1
    return at !== -1 && !/["'`]/.test(text[at - 1] ?? '')
  })
  if (bare === undefined) return error
  const { code, title, message, excerpt, cause } = error
  const hint = `. This name needs quotes: ${quote(bare)}`
  // DuckDB's message ends with its excerpt.
  const hinted = message.replace(/(?=\n|$)/, () => hint)
  return new AppError(code, hinted, { title, excerpt, cause })
}

/** With the nearest name of an unknown column, and its position in the client's text. */
export function withColumnHint(error: AppError, sql: string, snapshot: CatalogSnapshot): AppError {
  const name = UNKNOWN_COLUMN.exec(error.message)?.[1]
  if (name === undefined) return error
  const tokens = nameTokens(sql)
  const columns = [...new Set(columnsOfNamed(tokens, snapshot))]
  const token = tokens.find(({ value }) => value.toLowerCase() === name.toLowerCase())
  const advice = viewHint(name, tokens, snapshot) ?? lastHint(name) ?? optionHint(name)
  const hint = advice === undefined ? nameHint(name, token, columns) : `. ${advice}`
  const excerpt = token && excerptAt(sql, [...sql.slice(0, token.start)].length)
  return new AppError('sql_unknown_name', `Column "${name}" does not exist${hint}`, {
    cause: error,
    ...(excerpt === undefined ? {} : { excerpt }),
  })
}

/** For a column that a view of the statement had, or that only its text names. */
function viewHint(
  name: string,
  tokens: readonly Token[],
  { views }: CatalogSnapshot,
): string | undefined {
  const isWritten = (text: string) => tokens.some(({ value }) => fileKey(value) === fileKey(text))
  const view = views.find((one) => isWritten(one.name))
  const isOwn = view?.columns.some((column) => fileKey(column.name) === fileKey(name))
  if (view === undefined || (isWritten(name) && !isOwn)) return undefined
  return `The view ${view.name} reads it: a table that it reads has changed`
}

/** The nearest name, or else the shortest with this word: `Amount (EUR)` for `amount`. */
export function similarName(name: string, candidates: readonly string[]): string | undefined {
  const word = name.toLowerCase()
  if (word.length < WORD_CHARS_MIN) return nearestName(name, candidates)
  const hasWord = (one: string) => one.toLowerCase().split(NO_WORD).includes(word)
  const [shortest] = candidates.filter(hasWord).toSorted((a, b) => a.length - b.length)
  return nearestName(name, candidates) ?? shortest
}

const WORD_CHARS_MIN = 3
const NO_WORD = /[^\p{L}\p{N}]+/u

function nameHint(name: string, token: Token | undefined, columns: readonly string[]): string {
  if (columns.some((column) => nameKey(column) === nameKey(name))) {
    return ' here. A subquery has only the columns that it selects, and * leaves out metadata columns'
  }
  return didYouMean(similarName(name, columns)) || otherwise(token, columns)
}

/** For a name like no column's. In other databases, texts can have double quotes. */
function otherwise(token: Token | undefined, columns: readonly string[]): string {
  if (token?.text.startsWith('"')) return `. A text needs single quotes: ${literal(token.value)}`
  const shown = columns.slice(0, SHOWN_COLUMNS_MAX).map((column) => `"${column}"`)
  if (shown.length < columns.length) shown.push('…')
  return shown.length === 0 ? '' : `. The columns are ${shown.join(', ')}`
}

const SHOWN_COLUMNS_MAX = 20

function lastHint(name: string): string | undefined {
  if (name.toLowerCase() !== 'last') return undefined
  const what = 'LAST is the highest value a job has read so far'
  return `${what}: each statement of CREATE JOB can compare it once, as column > LAST`
}

/** DuckDB's wording. */
const UNKNOWN_COLUMN = /(?:Referenced column|have a column named) "([^"]+)"/

function nameTokens(sql: string): readonly Token[] {
  return plainTokens(sql).filter(isName)
}

/** The columns of every relation with one of these names, in any project. */
function columnsOfNamed(tokens: readonly Token[], snapshot: CatalogSnapshot): readonly string[] {
  const names = new Set(tokens.map(({ value }) => fileKey(value)))
  const isName = (name: string) => names.has(fileKey(name))
  const isNamed = ({ name }: { readonly name: string }) => isName(name)
  return [
    ...snapshot.knowledgeBases
      .filter(isNamed)
      .flatMap((kb) => [
        ...kb.storedMetadata.map((column) => column.name),
        ...(kb.metadataColumns ?? []),
        ...KNOWLEDGE_BASE_COLUMNS,
        'content',
      ]),
    ...snapshot.files.flatMap(tablesOfFile).flatMap(({ file, name, columns }) => {
      const short = namesWithoutEnding(file.name)
      const names = [file.name, ...short].map((one) => `${one}${name.slice(file.name.length)}`)
      return names.some(isName) ? columns : []
    }),
    ...[...snapshot.views, ...snapshot.tables].filter(isNamed).flatMap((relation) => {
      return relation.columns.map((column) => column.name)
    }),
  ]
}
