import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { KNOWLEDGE_BASE_COLUMNS } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import { excerptAt } from '../../sql/ast/placed-error.ts'
import { nearestName } from '../../sql/lexer/did-you-mean.ts'
import { type Token, tokenize } from '../../sql/lexer/tokens.ts'
import { optionHint } from '../../sql/search/search-options.ts'

/**
 * DuckDB does not know a column: the message names the nearest one of the relations that the statement names, and the
 * place in the caller's text. Any other error stays as it is.
 */
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
  return 'LAST stands for what a job took before: only statements of CREATE JOB have it'
}

/** How DuckDB says it. */
const UNKNOWN_COLUMN = /(?:Referenced column|have a column named) "([^"]+)"/

function nameTokens(sql: string): readonly Token[] {
  try {
    return tokenize(sql).filter(({ kind }) => kind === 'word' || kind === 'name')
  } catch {
    return []
  }
}

/** The columns of every relation that has one of these names, in whatever project. */
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
