/** Which items of a list a request asks for, by its query parameters. */
import { AppError } from '../../errors.ts'
import type { ListOrder, Selection } from '../../query/documents/list-documents.ts'

export const LIST_PARAMETERS = `Query parameters:

- \`limit\`: 1 to 1000, 50 by default
- \`cursor\`: \`next\` of the page before. Pages by cursor neither repeat nor leave out what stays as it is
- \`offset\`: leaves out so many, instead of a cursor
- \`filters\`: JSON as in a search, \`{"year": {">": 2020}}\`
- \`q\`: a part of the id or of the title, in whatever case`

export const SELECTION_PARAMETERS = `Query parameters:

- \`filters\`: JSON as in a search, \`{"year": {"<": 2020}}\`. A document goes whole where one of its chunks fits
- \`all=true\`: every document; required where there are no filters`

const LIMIT_UNSET = 50
const LIMIT_MAX = 1000
const OFFSET_MAX = 1_000_000_000
const SEARCHED_CHARS_MAX = 1000

type OwnParameter = 'document_id' | 'vectors'

/** @throws AppError `unknown_field`, `invalid_request`, `invalid_json` that names the parameter */
export function listOrderOf(
  request: Request,
  own: readonly OwnParameter[],
): ListOrder & { readonly hasVectors: boolean } {
  const sent = parametersOf(request, ['limit', 'cursor', 'offset', 'filters', 'q', ...own])
  const cursor = sent.get('cursor')
  if (cursor !== undefined && sent.has('offset')) {
    throw wrong('offset', 'and "cursor" exclude each other')
  }
  const searched = sent.get('q')
  if ((searched?.length ?? 0) > SEARCHED_CHARS_MAX) {
    throw wrong('q', `has at most ${SEARCHED_CHARS_MAX} characters`)
  }
  const documentId = sent.get('document_id')
  return {
    limit: integer(sent, 'limit', { min: 1, max: LIMIT_MAX }) ?? LIMIT_UNSET,
    afterKey: cursor === undefined ? 0n : keyOf(cursor),
    offset: integer(sent, 'offset', { min: 0, max: OFFSET_MAX }) ?? 0,
    filters: filtersOf(sent),
    hasVectors: truth(sent, 'vectors'),
    ...(searched === undefined || searched === '' ? {} : { searched }),
    ...(documentId === undefined ? {} : { documentId }),
  }
}

/** @throws AppError `missing_parameter` for neither filters nor `all=true`, and as `listOrderOf` */
export function selectionOf(request: Request): Selection {
  const sent = parametersOf(request, ['filters', 'all'])
  const filters = filtersOf(sent)
  const isAll = truth(sent, 'all')
  const isEmpty = filters === undefined || Object.keys(filters).length === 0
  if (isEmpty !== isAll) {
    const how = 'Send "filters" for some of the documents, or "all=true" for every one'
    throw new AppError('missing_parameter', isAll ? `${how}, not both` : how)
  }
  return { filters }
}

type Parameters = ReadonlyMap<string, string>

function parametersOf(request: Request, known: readonly string[]): Parameters {
  const sent = new Map<string, string>()
  for (const [name, value] of new URL(request.url).searchParams) {
    if (!known.includes(name)) {
      const shown = name.slice(0, 100)
      throw new AppError(
        'unknown_field',
        `Unknown parameter "${shown}"; there are: ${known.join(', ')}`,
      )
    }
    if (sent.has(name)) throw wrong(name, 'is sent twice')
    sent.set(name, value)
  }
  return sent
}

function integer(
  sent: Parameters,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = sent.get(name)
  if (text === undefined) return undefined
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw wrong(name, `must be a whole number from ${min} to ${max}`)
}

function truth(sent: Parameters, name: string): boolean {
  const text = sent.get(name)
  if (text === undefined || text === 'false' || text === '0') return false
  if (text === 'true' || text === '1') return true
  throw wrong(name, 'must be true or false')
}

function keyOf(cursor: string): bigint {
  if (/^\d{1,18}$/.test(cursor)) return BigInt(cursor)
  throw wrong('cursor', 'must be "next" of the page before')
}

function filtersOf(sent: Parameters): object | undefined {
  const text = sent.get('filters')
  if (text === undefined || text === '') return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch (cause) {
    throw new AppError('invalid_json', 'The parameter "filters" is not JSON', { cause })
  }
  throw wrong('filters', 'must be an object of conditions')
}

function wrong(name: string, what: string): AppError {
  return new AppError('invalid_request', `Parameter "${name}" ${what}`)
}
