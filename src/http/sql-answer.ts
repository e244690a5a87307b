import type { QueryResult } from '../domain/query-result.ts'
import { toAppError } from '../errors.ts'
import type { RequestScope } from './running-requests.ts'
import { type AnswerEnd, contextRecord, type ResultRow, type SqlFormat } from './sql-format.ts'
import { streamedResponse } from './streamed-response.ts'

type TableResult = Extract<QueryResult, { kind: 'table' }>

interface AnswerInit {
  readonly format: SqlFormat
  readonly scope: RequestScope
  readonly onFailure: (error: unknown) => void
}

/**
 * The result of a statement as an answer. Rows are written batch by batch as the client reads
 * them; a result of one batch, as most are, goes out in one piece.
 * @throws AppError when reading fails before the second batch
 */
export async function sqlAnswer(result: QueryResult, init: AnswerInit): Promise<Response> {
  if (result.kind === 'ok') {
    const { affectedRows, context } = result
    return Response.json({
      type: 'ok',
      affected_rows: affectedRows,
      context: contextRecord(context),
    })
  }
  const { format, scope } = init
  const batches = withRows(result.rows.batches)
  const first = await batches.next()
  const second = first.done === true ? first : await batches.next()
  const head = format.head(result.rows.columns)
  const start = first.done === true ? head : `${head}${format.rows(first.value, true)}`
  const headers = { 'content-type': format.contentType }
  if (second.done === true) {
    return new Response(`${start}${format.tail(endOf(result), null)}`, { headers })
  }
  const rest = restOf(batches, second.value, { ...init, result })
  const keepAlive = format.keepAlive === undefined ? {} : { keepAlive: { text: format.keepAlive } }
  return streamedResponse(startingWith(start, rest), { headers, scope, ...keepAlive })
}

function endOf({ context, rows: { warnings = [] } }: TableResult): AnswerEnd {
  return { context, warnings }
}

async function* withRows(batches: TableResult['rows']['batches']) {
  for await (const batch of batches) {
    if (batch.length > 0) yield batch
  }
}

async function* startingWith(start: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield start
  yield* rest
}

async function* restOf(
  batches: AsyncGenerator<readonly ResultRow[]>,
  second: readonly ResultRow[],
  { format, result, onFailure }: AnswerInit & { readonly result: TableResult },
): AsyncGenerator<string> {
  let tail = ''
  try {
    yield format.rows(second, false)
    for await (const batch of batches) yield format.rows(batch, false)
    tail = format.tail(endOf(result), null)
  } catch (error) {
    onFailure(error)
    tail = format.tail(endOf(result), toAppError(error))
  } finally {
    await batches.return(undefined)
  }
  yield tail
}
