import { type CellValue, shownValue } from '../../core/domain/document.ts'
import { quote } from '../../core/domain/identifier.ts'
import { AppError } from '../../core/errors.ts'
import { caretAt } from '../../sql/ast/placed-error.ts'
import type { RowStatement } from '../../sql/dialect/parse-rows.ts'
import { type Token, tokenize } from '../../sql/lexer/tokens.ts'
import { CHUNK_KEY } from '../../sql/search/ranking.ts'
import { runComposedSelect } from '../select/composed-select.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { KnowledgeBaseRequest } from '../select/statement-request.ts'

type Changing = Extract<RowStatement, { kind: 'update' | 'delete' }>

/**
 * Finds the chunks by a SELECT like any other, so that a WHERE means the same in both. The change then happens to
 * exactly these chunks, whatever is written in between.
 * @param expressions SQL over the chunk's columns
 * @throws AppError `sql_invalid_search` for a search without a threshold, and those of the SELECT
 */
export async function* matchingChunks(
  { statement, kb, db, params }: KnowledgeBaseRequest<Changing>,
  deps: QueryDeps,
  signal: AbortSignal,
  expressions: readonly string[] = [],
): AsyncGenerator<
  readonly {
    readonly chunkKey: bigint
    readonly values: readonly CellValue[]
  }[],
  void
> {
  const { where, alias } = statement
  for (const sql of [...expressions, where ?? '']) refuseOtherParts(sql)
  if (where !== null) refuseSearchAlone(where)
  const list = [CHUNK_KEY, ...expressions.map((sql, index) => `(${sql}\n) AS "${VALUE}${index}"`)]
  const name = `${quote(kb.projectName)}.${quote(kb.name)}`
  const from = alias === null ? name : `${name} AS ${quote(alias)}`
  const condition = where === null ? '' : ` WHERE (${where}\n)`
  // Nested, a search has no implied LIMIT.
  const sql = `SELECT * FROM (SELECT ${list.join(', ')} FROM ${from}${condition})`
  const request = { sql, database: db, params, readsChunkKeys: true }
  const { batches, typedBatches = batches } = await runComposedSelect(request, deps, signal)
  for await (const batch of typedBatches) {
    yield batch.map(([key = null, ...values]) => {
      return { chunkKey: BigInt(String(shownValue(key))), values }
    })
  }
}

const VALUE = '__value_'

/**
 * SQL that is put between parentheses must not close them, or its rest would become another part of the statement. And
 * only the SELECT around it may name the keys of chunks.
 */
function refuseOtherParts(sql: string): void {
  let depth = 0
  for (const { text, value, start } of dialectTokens(sql)) {
    if (text === '(') depth += 1
    if (text === ')') depth -= 1
    if (value.toLowerCase() === CHUNK_KEY) {
      throw new AppError('sql_unknown_name', `Column "${CHUNK_KEY}" does not exist`)
    }
    if (depth >= 0) continue
    throw new AppError('sql_syntax', 'a parenthesis is closed that was not opened', {
      excerpt: caretAt(sql, start),
    })
  }
}

/** `content = '…'` ranks and does not filter: alone it would apply to every chunk. */
function refuseSearchAlone(where: string): void {
  const words = new Set(columnNamesIn(where))
  if (!words.has('content') || words.has('relevance') || words.has('distance')) return
  const how = "add a threshold: content = '…' AND relevance >= 0.8"
  const message = `content ranks and does not filter, so that this would mean every row; ${how}`
  throw new AppError('sql_invalid_search', message)
}

const QUERY_WORDS = new Set(['select', 'with', 'from', 'values'])

/** The names in a condition, in lower case, without those of its sub-queries. */
export function columnNamesIn(sql: string): readonly string[] {
  const tokens = dialectTokens(sql)
  const names: string[] = []
  // For each open parenthesis: is it part of a sub-query?
  const open: boolean[] = []
  for (const [index, { kind, text, value }] of tokens.entries()) {
    const isWithin = open.at(-1) === true
    if (text === '(') {
      open.push(isWithin || QUERY_WORDS.has(tokens[index + 1]?.text.toLowerCase() ?? ''))
    } else if (text === ')') open.pop()
    else if ((kind === 'word' || kind === 'name') && !isWithin) names.push(value.toLowerCase())
  }
  return names
}

function dialectTokens(sql: string): readonly Token[] {
  return tokenize(sql, sql.includes("\\'") ? 'backslash' : 'standard')
}
