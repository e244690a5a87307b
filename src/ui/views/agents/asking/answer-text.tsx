/** Shows a model's answer as HTML, with numbered marks that link to its sources. */
import { useMemo } from 'preact/hooks'
import type { Citation } from '../../../../core/domain/agents/completion-event.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { tellDone, tellFailed } from '../../../shell/notices.tsx'
import { answerHtml, citedIds, escaped, partsOf } from './answer-html.ts'

export function AnswerText(props: {
  readonly text: string
  readonly citations: readonly Citation[]
}) {
  const { text, citations } = props
  // Sources arrive at the end, but the ids already have the same numbers before.
  const ids = citations.length === 0 ? citedIds(text) : chunkIds(citations)
  const markOf = useMemo(() => {
    return (id: string) => markHtml(id, ids, citations)
  }, [ids.join('\n'), citations])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: it listens for the buttons in it
    <div class="agents-answer" dir="auto" onClick={copyCode}>
      {partsOf(withoutIds(text, citations)).map((part, index) => (
        <Part key={index} text={part} markOf={markOf} />
      ))}
    </div>
  )
}

/** How answers of the built-in model start. */
const OPENING = /^(This is what I found|I found nothing relevant to this question) in mindsdb\./

/** Nor the default project: the source below shows the title. */
function withoutIds(text: string, citations: readonly Citation[]): string {
  const opened = text.replace(OPENING, '$1 in ')
  return citations.reduce((now, { document_id: id }) => now.replaceAll(`— ${id} [`, '— ['), opened)
}

export function chunkIds(citations: readonly Citation[]): readonly string[] {
  return [...new Set(citations.map(({ chunk_id }) => chunk_id))]
}

interface PartProps {
  readonly text: string
  readonly markOf: (id: string) => string
}

function Part({ text, markOf }: PartProps) {
  const html = useMemo(() => ({ __html: answerHtml(text, markOf) }), [text, markOf])
  // Safe, because answerHtml escapes all tags in the text.
  return <div class="stack" dangerouslySetInnerHTML={html} />
}

async function copyCode({ target }: MouseEvent): Promise<void> {
  const button = target instanceof Element ? target.closest('.agents-code > button') : null
  if (button === null) return
  try {
    await navigator.clipboard.writeText(button.nextElementSibling?.textContent ?? '')
    tellDone('Copied')
  } catch (error) {
    tellFailed(error)
  }
}

function markHtml(id: string, ids: readonly string[], citations: readonly Citation[]): string {
  const index = ids.indexOf(id)
  if (index < 0) return ''
  const citation = citations.find(({ chunk_id }) => chunk_id === id)
  if (citation === undefined) return `<span class="agents-chip">${index + 1}</span>`
  const href = escaped(addressOfCitation(citation))
  const title = escaped(`“${citation.text}”`)
  const label = `Source ${index + 1}`
  return `<a class="agents-chip" href="${href}" aria-label="${label}" title="${title}">${index + 1}</a>`
}

/** The column is part of the chunk id: `3:content:1of1:0to67`. */
const CHUNK_ID = /:([^:]+):\d+of\d+:\d+to\d+$/

export function addressOfCitation(citation: Citation): string {
  const { knowledge_base, document_id: documentId, chunk_id: chunkId, start, end } = citation
  const [project = '', ...rest] = knowledge_base.split('.')
  const name = rest.join('.')
  if (start === null || end === null) return addressOf.document(project, name, documentId)
  const column = CHUNK_ID.exec(chunkId)?.[1]
  return addressOf.chunk(project, name, { documentId, start, end, column, chunkId })
}
