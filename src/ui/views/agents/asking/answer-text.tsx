/** The answer of a model: what is Markdown in it is shown as such, everything else stays text. */
import type { ComponentChildren } from 'preact'
import type { Citation } from '../../../../domain/agents/completion-event.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { type Block, blocksOf, type Inline, inlinesOf } from './answer-blocks.ts'

interface AnswerTextProps {
  readonly text: string
  readonly citations: readonly Citation[]
}

export function AnswerText({ text, citations }: AnswerTextProps) {
  const ids = [...new Set(citations.map(({ chunk_id }) => chunk_id))]
  const inline = (one: string) =>
    shown(inlinesOf(one, ids), (index) => citationOf(index, citations, ids))
  return (
    <div class="agents-answer" dir="auto">
      {blocksOf(text).map((block, index) => (
        <Shown key={index} block={block} inline={inline} />
      ))}
    </div>
  )
}

type ShowInline = (text: string) => ComponentChildren

function Shown({ block, inline }: { readonly block: Block; readonly inline: ShowInline }) {
  if (block.kind === 'rule') return <hr />
  if (block.kind === 'heading') return <h3 class="pre">{inline(block.text)}</h3>
  if (block.kind === 'quote') return <blockquote class="pre">{inline(block.text)}</blockquote>
  if (block.kind === 'paragraph') return <p class="pre">{inline(block.text)}</p>
  if (block.kind === 'code') {
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: wide code is scrolled by keyboard
      <pre tabIndex={0}>
        <code>{block.text}</code>
      </pre>
    )
  }
  if (block.kind === 'table') return <Table rows={block.rows} inline={inline} />
  const items = block.items.map((item, index) => (
    <li key={index} class="pre">
      {inline(item)}
    </li>
  ))
  return block.isOrdered ? <ol>{items}</ol> : <ul>{items}</ul>
}

function Table({
  rows: [head = [], ...rows],
  inline,
}: {
  readonly rows: readonly (readonly string[])[]
  readonly inline: ShowInline
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keyboard
    <div class="agents-wide" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index} scope="col">
                {inline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, index) => (
                <td key={index}>{inline(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function shown(
  inlines: readonly Inline[],
  citation: (index: number) => ComponentChildren,
): ComponentChildren {
  return inlines.map((one) => {
    if (one.kind === 'text') return one.text
    if (one.kind === 'code') return <code>{one.text}</code>
    if (one.kind === 'strong') return <strong>{shown(one.content, citation)}</strong>
    if (one.kind === 'emphasis') return <em>{shown(one.content, citation)}</em>
    if (one.kind === 'citation') return citation(one.index)
    return (
      <a href={one.href} target="_blank" rel="noopener noreferrer nofollow">
        {one.text}
      </a>
    )
  })
}

function citationOf(index: number, citations: readonly Citation[], ids: readonly string[]) {
  const citation = citations.find(({ chunk_id }) => chunk_id === ids[index])
  if (citation === undefined) return null
  return <CitationChip number={index + 1} citation={citation} />
}

/** A number that leads to the quote in its document. */
export function CitationChip({
  number,
  citation,
  isShared,
}: {
  readonly number: number
  readonly citation: Citation
  readonly isShared?: boolean
}) {
  return (
    <a
      class={`agents-chip ${isShared ? 'shared' : ''}`}
      href={addressOfCitation(citation)}
      aria-label={`Source ${number}: ${citation.document_id}`}
      title={`${citation.document_id}: “${citation.text}”`}
    >
      {number}
    </a>
  )
}

/** The column stands in the id of a chunk: `3:content:1of1:0to67`. */
const CHUNK_ID = /:([^:]+):\d+of\d+:\d+to\d+$/

export function addressOfCitation(citation: Citation): string {
  const { knowledge_base, document_id: documentId, chunk_id, start, end } = citation
  const [project = '', ...rest] = knowledge_base.split('.')
  const name = rest.join('.')
  if (start === null || end === null) return addressOf.document(project, name, documentId)
  const column = CHUNK_ID.exec(chunk_id)?.[1]
  return addressOf.chunk(project, name, { documentId, start, end, column })
}
