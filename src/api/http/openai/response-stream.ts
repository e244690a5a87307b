/** Builds a response step by step: its items, and an event for each step. */
import type { Answer } from '../../../agents/questions/completion-stream.ts'
import { type AppError, toAppError } from '../../../core/errors.ts'
import { openAiError } from '../request/error-response.ts'
import type { Piece } from './chat-answer.ts'
import {
  annotationsOf,
  endOf,
  type Item,
  messageItem,
  queriesOf,
  type ResponseTerms,
  reasoningItem,
  responseOf,
  resultsOf,
  searchItem,
  textPart,
} from './response-answer.ts'

interface ResponseEvent extends Readonly<Record<string, unknown>> {
  readonly type: string
}

/** Where an item is, for its events. */
interface ItemPlace {
  readonly item_id: string
  readonly output_index: number
}

/** The last event contains the whole response. */
class ResponseEvents {
  readonly #terms: ResponseTerms
  #traceId = ''
  readonly #items: Item[] = []
  /** The items that are not complete yet. */
  #search: { readonly place: ItemPlace; readonly queries: string[] } | null = null
  #thought: { readonly place: ItemPlace; text: string } | null = null
  #message: { readonly place: ItemPlace; text: string } | null = null

  constructor(terms: ResponseTerms) {
    this.#terms = terms
  }

  get traceId(): string {
    return this.#traceId
  }

  *of(piece: Piece): Generator<ResponseEvent, void> {
    if (piece.kind === 'start') {
      this.#traceId = piece.traceId
      yield this.#whole('response.created')
      yield this.#whole('response.in_progress')
    } else if (piece.kind === 'thought') {
      yield* this.#thinking(piece.text)
    } else if (piece.kind === 'text') {
      yield* this.#closeEarlier(null)
      yield* this.#writing(piece.text)
    } else if (piece.kind === 'end') {
      yield* this.#ended(piece.answer)
    } else if (this.#terms.vectorStores !== undefined) {
      yield* this.#searching(queriesOf(piece.actions))
    }
  }

  *failed(failure: AppError): Generator<ResponseEvent, void> {
    const { code, message, param } = openAiError(failure)
    const isLimit = code === 'rate_limit_exceeded'
    const error = { code: isLimit ? code : 'server_error', message }
    yield { type: 'error', code, message, param }
    yield this.#whole('response.failed', { status: 'failed', error, output: this.#items })
  }

  #whole(type: string, changes: object = {}): ResponseEvent {
    return { type, response: responseOf(this.#traceId, this.#terms, changes) }
  }

  #nextPlace(kind: string): ItemPlace {
    const output_index = this.#items.length
    return { item_id: `${kind}_${this.#traceId}_${output_index}`, output_index }
  }

  #added(item: Item): ResponseEvent {
    const output_index = this.#items.push(item) - 1
    return { type: 'response.output_item.added', output_index, item }
  }

  #done({ output_index }: ItemPlace, item: Item): ResponseEvent {
    this.#items[output_index] = item
    return { type: 'response.output_item.done', output_index, item }
  }

  *#searching(queries: readonly string[]): Generator<ResponseEvent, void> {
    if (this.#search === null) {
      const place = this.#nextPlace('fs')
      this.#search = { place, queries: [] }
      yield this.#added(searchItem(place.item_id, 'in_progress', [], null))
      yield { type: 'response.file_search_call.in_progress', ...place }
      yield { type: 'response.file_search_call.searching', ...place }
    }
    this.#search.queries.push(...queries)
  }

  *#thinking(delta: string): Generator<ResponseEvent, void> {
    if (this.#thought === null) {
      const place = this.#nextPlace('rs')
      this.#thought = { place, text: '' }
      yield this.#added(reasoningItem(place.item_id, null))
      const part = { type: 'summary_text', text: '' }
      yield { type: 'response.reasoning_summary_part.added', ...place, summary_index: 0, part }
    }
    this.#thought.text += delta
    const { place } = this.#thought
    yield { type: 'response.reasoning_summary_text.delta', ...place, summary_index: 0, delta }
  }

  *#writing(delta: string): Generator<ResponseEvent, void> {
    const { place, added } = this.#opened()
    yield* added
    if (this.#message !== null) this.#message.text += delta
    const at = { ...place, content_index: 0 }
    yield { type: 'response.output_text.delta', ...at, delta, logprobs: [] }
  }

  /** The message, which the first text or the end of the answer opens. */
  #opened() {
    if (this.#message !== null) return { place: this.#message.place, added: [] }
    const item = messageItem(this.#traceId, 'in_progress', [])
    const place = { item_id: item.id, output_index: this.#items.length }
    this.#message = { place, text: '' }
    const at = { ...place, content_index: 0 }
    const part = { type: 'response.content_part.added', ...at, part: textPart('', []) }
    return { place, added: [this.#added(item), part] }
  }

  /** @param answer its passages are sent as search results; null before the answer is known */
  *#closeEarlier(answer: Answer | null): Generator<ResponseEvent, void> {
    if (this.#thought !== null) {
      const { place, text } = this.#thought
      const at = { ...place, summary_index: 0 }
      const part = { type: 'summary_text', text }
      yield { type: 'response.reasoning_summary_text.done', ...at, text }
      yield { type: 'response.reasoning_summary_part.done', ...at, part }
      yield this.#done(place, reasoningItem(place.item_id, text))
      this.#thought = null
    }
    const { withResults, filenameOf } = this.#terms
    // Search results are sent only once the answer shows which passages it cites.
    if (this.#search === null || (answer === null && withResults)) return
    const { place, queries } = this.#search
    const results = answer !== null && withResults ? resultsOf(answer.citations, filenameOf) : null
    yield { type: 'response.file_search_call.completed', ...place }
    yield this.#done(place, searchItem(place.item_id, 'completed', queries, results))
    this.#search = null
  }

  *#ended(answer: Answer): Generator<ResponseEvent, void> {
    yield* this.#closeEarlier(answer)
    const { place, added } = this.#opened()
    yield* added
    const text = this.#message?.text ?? ''
    const annotations = annotationsOf({ ...answer, content: text }, this.#terms)
    const at = { ...place, content_index: 0 }
    for (const [annotation_index, annotation] of annotations.entries()) {
      const type = 'response.output_text.annotation.added'
      yield { type, ...at, annotation_index, annotation }
    }
    const part = textPart(text, annotations)
    yield { type: 'response.output_text.done', ...at, text, logprobs: [] }
    yield { type: 'response.content_part.done', ...at, part }
    yield this.#done(place, messageItem(this.#traceId, 'completed', [part]))
    const isWhole = answer.finish !== 'length' && !/filter|refusal/.test(answer.finish ?? '')
    const type = isWhole ? 'response.completed' : 'response.incomplete'
    yield this.#whole(type, endOf(answer, this.#items))
  }
}

export async function wholeResponse(pieces: AsyncIterable<Piece>, terms: ResponseTerms) {
  const events = new ResponseEvents(terms)
  let last: ResponseEvent | undefined
  for await (const piece of pieces) for (const event of events.of(piece)) last = event
  return last?.response
}

/** Numbered server-sent events. A later failure is sent as `error` and `response.failed`. */
export async function* responseEvents(
  pieces: AsyncIterable<Piece>,
  terms: ResponseTerms,
  onFailure: (failure: AppError, traceId: string) => void,
): AsyncGenerator<string, void> {
  const events = new ResponseEvents(terms)
  let sequence_number = 0
  const written = ({ type, ...event }: ResponseEvent) => {
    const data = JSON.stringify({ type, sequence_number, ...event })
    sequence_number += 1
    return `event: ${type}\ndata: ${data}\n\n`
  }
  try {
    for await (const piece of pieces) {
      for (const event of events.of(piece)) yield written(event)
    }
  } catch (error) {
    if (events.traceId === '') throw error
    const failure = toAppError(error)
    onFailure(failure, events.traceId)
    for (const event of events.failed(failure)) yield written(event)
  }
}
