import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { KNOWLEDGE_BASE_COLUMNS } from '../../core/domain/knowledge-base.ts'
import { fileKey, namesWithoutEnding, tablesOfFile } from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import { nearestName } from '../../core/short-text.ts'
import { lineAndColumn } from '../../core/text/shown-statement.ts'
import { caretAt, excerptAt } from '../../sql/ast/placed-error.ts'
import { type Token, tokenize } from '../../sql/lexer/tokens.ts'
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
