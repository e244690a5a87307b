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

/** The last event contains the whole response. */
class ResponseEvents {
  readonly #terms: ResponseTerms
  #traceId = ''
  readonly #items: Item[] = []
  #search: { readonly index: number; readonly queries: string[] } | null = null
  #thought: { readonly index: number; text: string } | null = null
  #message: { readonly index: number; text: string } | null = null

  constructor(terms: ResponseTerms) {
    this.#terms = terms
  }

  get traceId(): string {
    return this.#traceId
  }

  of(piece: Piece): readonly ResponseEvent[] {
    switch (piece.kind) {
      case 'start':
        this.#traceId = piece.traceId
        return ['response.created', 'response.in_progress'].map((type) => this.#whole(type))
      case 'action':
        return this.#terms.vectorStores === undefined
          ? []
          : [...this.#openSearch(), ...this.#searching(queriesOf(piece.actions))]
      case 'thought':
        return [...this.#openThought(), ...this.#thinking(piece.text)]
      case 'text':
        return [...this.#closeEarlier(null), ...this.#openMessage(), ...this.#writing(piece.text)]
      case 'end':
        return this.#ended(piece.answer)
    }
  }

  failed(failure: AppError): readonly ResponseEvent[] {
    const { code, message, param } = openAiError(failure)
    const isLimit = code === 'rate_limit_exceeded'
    const error = { code: isLimit ? code : 'server_error', message }
    return [
      { type: 'error', code, message, param },
      this.#whole('response.failed', { status: 'failed', error, output: this.#items }),
    ]
  }

  #whole(type: string, changes: object = {}): ResponseEvent {
    return { type, response: responseOf(this.#traceId, this.#terms, changes) }
  }

  #added(item: Item): ResponseEvent {
    this.#items.push(item)
    const output_index = this.#items.length - 1
    return { type: 'response.output_item.added', output_index, item }
  }

  #done(output_index: number, item: Item): ResponseEvent {
    this.#items[output_index] = item
    return { type: 'response.output_item.done', output_index, item }
  }

  #idOf(kind: string): string {
    return `${kind}_${this.#traceId}_${this.#items.length}`
  }

  #openSearch(): readonly ResponseEvent[] {
    if (this.#search !== null) return []
    const item = searchItem(this.#idOf('fs'), 'in_progress', [], null)
    const added = this.#added(item)
    this.#search = { index: this.#items.length - 1, queries: [] }
    const place = { output_index: this.#search.index, item_id: item.id }
    return [
      added,
      { type: 'response.file_search_call.in_progress', ...place },
      { type: 'response.file_search_call.searching', ...place },
    ]
  }

  #searching(queries: readonly string[]): readonly ResponseEvent[] {
    this.#search?.queries.push(...queries)
    return []
  }

  #openThought(): readonly ResponseEvent[] {
    if (this.#thought !== null) return []
    const item = reasoningItem(this.#idOf('rs'), null)
    const added = this.#added(item)
    const output_index = this.#items.length - 1
    this.#thought = { index: output_index, text: '' }
    const part = { type: 'summary_text', text: '' }
    const place = { output_index, item_id: item.id, summary_index: 0 }
    return [added, { type: 'response.reasoning_summary_part.added', ...place, part }]
  }

  #thinking(delta: string): readonly ResponseEvent[] {
    const thought = this.#thought
    if (thought === null) return []
    thought.text += delta
    const place = { output_index: thought.index, summary_index: 0 }
    const item_id = this.#items[thought.index]?.id
    return [{ type: 'response.reasoning_summary_text.delta', ...place, item_id, delta }]
  }

  #openMessage(): readonly ResponseEvent[] {
    if (this.#message !== null) return []
    const added = this.#added(messageItem(this.#traceId, 'in_progress', []))
    this.#message = { index: this.#items.length - 1, text: '' }
    const part = textPart('', [])
    return [added, { type: 'response.content_part.added', ...this.#textPlace(), part }]
  }

  #textPlace() {
    const output_index = this.#message?.index ?? 0
    return { item_id: `msg_${this.#traceId}`, output_index, content_index: 0 }
  }

  #writing(delta: string): readonly ResponseEvent[] {
    if (this.#message !== null) this.#message.text += delta
    const logprobs: readonly object[] = []
    return [{ type: 'response.output_text.delta', ...this.#textPlace(), delta, logprobs }]
  }

  /** @param answer its passages are sent as search results; null before the answer is known */
  #closeEarlier(answer: Answer | null): readonly ResponseEvent[] {
    const events: ResponseEvent[] = []
    if (this.#thought !== null) {
      const { index: output_index, text } = this.#thought
      const item_id = this.#items[output_index]?.id ?? ''
      const place = { item_id, output_index, summary_index: 0 }
      const part = { type: 'summary_text', text }
      events.push({ type: 'response.reasoning_summary_text.done', ...place, text })
      events.push({ type: 'response.reasoning_summary_part.done', ...place, part })
      events.push(this.#done(output_index, reasoningItem(item_id, text)))
      this.#thought = null
    }
    // Search results are sent only once the answer shows which passages it cites.
    const mayClose = answer !== null || !this.#terms.withResults
    if (this.#search !== null && mayClose) {
      const { index: output_index, queries } = this.#search
      const item_id = this.#items[output_index]?.id ?? ''
      const place = { output_index, item_id }
      const results =
        answer !== null && this.#terms.withResults
          ? resultsOf(answer.citations, this.#terms.filenameOf)
          : null
      events.push({ type: 'response.file_search_call.completed', ...place })
      events.push(this.#done(output_index, searchItem(item_id, 'completed', queries, results)))
      this.#search = null
    }
    return events
  }

  #ended(answer: Answer): readonly ResponseEvent[] {
    const events = [...this.#closeEarlier(answer), ...this.#openMessage()]
    const text = this.#message?.text ?? ''
    const annotations = annotationsOf({ ...answer, content: text }, this.#terms)
    const place = this.#textPlace()
    annotations.forEach((annotation, annotation_index) => {
      const type = 'response.output_text.annotation.added'
      events.push({ type, ...place, annotation_index, annotation })
    })
    const part = textPart(text, annotations)
    events.push({ type: 'response.output_text.done', ...place, text, logprobs: [] })
    events.push({ type: 'response.content_part.done', ...place, part })
    events.push(this.#done(place.output_index, messageItem(this.#traceId, 'completed', [part])))
    const isWhole = answer.finish !== 'length' && !/filter|refusal/.test(answer.finish ?? '')
    const type = isWhole ? 'response.completed' : 'response.incomplete'
    events.push(this.#whole(type, endOf(answer, this.#items)))
    return events
  }
}

export async function wholeResponse(pieces: AsyncIterable<Piece>, terms: ResponseTerms) {
  const events = new ResponseEvents(terms)
  let last: ResponseEvent | undefined
  for await (const piece of pieces) last = events.of(piece).at(-1) ?? last
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
