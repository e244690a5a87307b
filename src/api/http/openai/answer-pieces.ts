/** A question's events as a client of OpenAI's API reads them: text as it is written, steps as thought, the answer last. */
import type { Answer } from '../../../agents/questions/completion-stream.ts'
import type {
  Action,
  Citation,
  CompletionEvent,
  Step,
} from '../../../core/domain/agents/completion-event.ts'

export type Piece =
  | { readonly kind: 'start'; readonly traceId: string }
  | { readonly kind: 'text'; readonly text: string }
  /** Calls of tools that begin. */
  | { readonly kind: 'action'; readonly actions: readonly Action[] }
  | { readonly kind: 'thought'; readonly text: string }
  | { readonly kind: 'end'; readonly answer: Answer; readonly steps: readonly Step[] }

export interface PieceOptions {
  /** Whether text may come before the answer is whole. */
  readonly deltas: boolean
  readonly withSteps: boolean
}

/** `start` comes first and `end` last; all text together is the answer, behind what the model said before its calls. */
export async function* answerPieces(
  events: AsyncIterable<CompletionEvent, Answer>,
  { deltas, withSteps }: PieceOptions,
): AsyncGenerator<Piece, void> {
  const iterator = events[Symbol.asyncIterator]()
  const steps: Step[] = []
  /** Of the turn that is being written, and whether one before it left any. */
  let turn = ''
  let hasEarlier = false
  try {
    // Bounded: the deadline ends every question.
    for (;;) {
      const next = await iterator.next()
      if (next.done === true) {
        const rest = restOf(next.value.content, turn)
        if (rest !== '')
          yield { kind: 'text', text: turn === '' && hasEarlier ? `\n\n${rest}` : rest }
        yield { kind: 'end', answer: next.value, steps }
        return
      }
      const event = next.value
      if ('actions' in event) {
        hasEarlier ||= turn !== ''
        turn = ''
        yield { kind: 'action', actions: event.actions }
        if (withSteps) yield { kind: 'thought', text: event.actions.map(actionText).join('') }
      } else if ('steps' in event) {
        steps.push(...event.steps)
        if (withSteps) yield { kind: 'thought', text: event.steps.map(stepText).join('') }
      } else if ('type' in event && event.type === 'start') {
        yield { kind: 'start', traceId: event.trace_id }
      } else if ('type' in event && event.type === 'delta' && deltas) {
        const isNext = turn === '' && hasEarlier
        turn += event.content
        yield { kind: 'text', text: isNext ? `\n\n${event.content}` : event.content }
      }
    }
  } finally {
    // A client may leave early.
    await iterator.return?.()
  }
}

/** What of the answer was not passed on yet. A model's thought that only its end has shown to be one stands before it. */
function restOf(answer: string, told: string): string {
  if (told.endsWith(answer) || told.trim() === answer.trim()) return ''
  return answer.startsWith(told) ? answer.slice(told.length) : `\n\n${answer}`
}

const SHOWN_CHARS_MAX = 600

function actionText({ tool, tool_input }: Action): string {
  return `**${tool}** ${inline(tool_input)}\n\n`
}

function stepText({ observation }: Step): string {
  const text = observation.trim()
  const shown = text.slice(0, SHOWN_CHARS_MAX).toWellFormed()
  return `${shown}${shown.length < text.length ? ' …' : ''}\n\n`
}

/** As code, whatever back-ticks are in it. */
function inline(text: string): string {
  const shown = text.slice(0, SHOWN_CHARS_MAX).toWellFormed()
  return shown === '' ? '' : `\`\` ${shown.replaceAll(/`{2,}/g, '`')} \`\``
}

export interface CitedPlace {
  readonly citation: Citation
  /** Where the answer names the chunk, in UTF-16 code units; both 0 where it is not found. */
  readonly start: number
  readonly end: number
  /** Of the document. Its fragment tells citations of one document apart, as clients show one for each address. */
  readonly url: string
  /** The document and the place in it. */
  readonly title: string
}

/** @param origin the server's address as the client knows it */
export function citedPlaces(
  content: string,
  citations: readonly Citation[],
  origin: string,
): readonly CitedPlace[] {
  return citations.map((citation) => {
    const mark = `[${citation.chunk_id}]`
    const index = content.indexOf(mark)
    const place = index === -1 ? { start: 0, end: 0 } : { start: index, end: index + mark.length }
    return { citation, ...place, url: urlOf(citation, origin), title: titleOf(citation) }
  })
}

/** Of chat completions. */
export function urlCitation({ citation, start, end, url, title }: CitedPlace) {
  const quote = citation.text
  return {
    type: 'url_citation',
    url_citation: { start_index: start, end_index: end, url, title, quote },
  }
}

function urlOf({ knowledge_base, document_id, chunk_id }: Citation, origin: string): string {
  const [project = '', name = ''] = knowledge_base.split('.')
  const parts = [project, 'knowledge_bases', name, 'documents', document_id]
  const path = parts.map((part) => encodeURIComponent(part.toWellFormed())).join('/')
  return `${origin}/api/projects/${path}#${encodeURIComponent(chunk_id.toWellFormed())}`
}

function titleOf({ document_id, page, heading }: Citation): string {
  const places = [page === null ? null : `page ${page}`, heading]
  return [document_id, ...places.filter((place) => place !== null && place !== '')].join(', ')
}
