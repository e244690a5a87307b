/** Which items of a list a request asks for, by its query parameters. */
import { AppError } from '../../../core/errors.ts'
import type { ListOrder, Selection } from '../../../query/documents/list-documents.ts'
import {
  cursor,
  filters,
  queryParameters,
  text,
  truth,
  wholeNumber,
  wrongParameter,
} from './query-parameters.ts'

const ORDER = {
  limit: wholeNumber({ min: 1, max: 1000, unset: 50, description: 'Items of a page' }),
  cursor: cursor(),
  offset: wholeNumber({
    min: 0,
    max: 1_000_000_000,
    unset: undefined,
    description:
      'Leaves out so many, instead of a cursor. Pages by cursor neither repeat nor leave out what stays as it is',
  }),
  filters: filters({ description: 'JSON as in a search', examples: ['{"year": {">": 2020}}'] }),
  q: text({ description: 'A part of the id or of the title, in whatever case', charsMax: 1000 }),
}

/** What is empty may be a variable that was not set: it must not ask for everything. */
const reading = { keepsEmpty: true }

export const DOCUMENTS_QUERY = queryParameters(ORDER, reading)

export const CHUNKS_QUERY = queryParameters(
  {
    ...ORDER,
    document_id: text({ description: 'Those of one document' }),
    vectors: truth({
      description: 'With `vector`, its numbers as base64 of little-endian 32-bit floats',
    }),
  },
  reading,
)

export const SELECTION_QUERY = queryParameters(
  {
    filters: filters({
      description: 'JSON as in a search. A document goes whole where one of its chunks fits',
      examples: ['{"year": {"<": 2020}}'],
    }),
    all: truth({ description: 'Every document; required where there are no filters' }),
  },
  reading,
)

/** @throws AppError `unknown_field`, `invalid_request`, `invalid_json` that names the parameter */
export function documentOrderOf(request: Request): ListOrder {
  return orderOf(DOCUMENTS_QUERY.read(request))
}

/** @throws AppError as `documentOrderOf` */
export function chunkOrderOf(request: Request): ListOrder & { readonly hasVectors: boolean } {
  const { document_id: documentId, vectors: hasVectors, ...sent } = CHUNKS_QUERY.read(request)
  return { ...orderOf(sent), hasVectors, ...(documentId === undefined ? {} : { documentId }) }
}

function orderOf({
  limit,
  cursor: after,
  offset,
  filters: conditions,
  q: searched,
}: ReturnType<typeof DOCUMENTS_QUERY.read>): ListOrder {
  if (after !== undefined && offset !== undefined) {
    throw wrongParameter('offset', 'and "cursor" exclude each other')
  }
  return {
    limit,
    afterKey: BigInt(after ?? 0),
    offset: offset ?? 0,
    filters: conditions,
    ...(searched === undefined || searched === '' ? {} : { searched }),
  }
}

/** @throws AppError `missing_parameter` for neither filters nor `all=true`, and as `documentOrderOf` */
export function selectionOf(request: Request): Selection {
  const { filters: conditions, all: isAll } = SELECTION_QUERY.read(request)
  const isEmpty = conditions === undefined || Object.keys(conditions).length === 0
  if (isEmpty !== isAll) {
    const how = 'Send "filters" for some of the documents, or "all=true" for every one'
    throw new AppError('missing_parameter', isAll ? `${how}, not both` : how)
  }
  return { filters: conditions }
}
