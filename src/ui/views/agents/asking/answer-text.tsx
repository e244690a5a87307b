/** The answer of a model: what is Markdown in it is shown as such, everything else stays text. */
import type { ComponentChildren } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import type { Citation } from '../../../../core/domain/agents/completion-event.ts'
import { CopyButton } from '../../../components/button.tsx'
import { addressOf } from '../../../shell/addresses.ts'
import { type Block, type Inline, inlinesOf, NOTHING_READ, readOn } from './answer-blocks.ts'

interface AnswerTextProps {
  readonly text: string
  readonly citations: readonly Citation[]
}

/** Blocks that are drawn again together. */
const GROUP = 30

export function AnswerText({ text, citations }: AnswerTextProps) {
  const read = useRef(NOTHING_READ)
  read.current = readOn(read.current, text)
  const { blocks } = read.current
  const pending = citations.length === 0 ? pendingIds(text) : ''
  const inline = useMemo(() => {
    const known = [...new Set(citations.map(({ chunk_id }) => chunk_id))]
    const ids = pending === '' ? known : pending.split('\n')
    const citation = (index: number) => citationOf(index, citations, ids)
    return (one: string) => shown(inlinesOf(one, ids), citation)
  }, [citations, pending])
  const groups = Array.from({ length: Math.ceil(blocks.length / GROUP) }, (_, index) => {
    return blocks.slice(index * GROUP, (index + 1) * GROUP)
  })
  return (
    <div class="agents-answer" dir="auto">
      {groups.map((group, index) => (
        <Group key={index} blocks={group} inline={inline} />
      ))}
    </div>
  )
}

const CITED = /\[([^\][\n]{1,300}:\d+of\d+:\d+to\d+)\]/g

/** Ids of chunks in a text whose sources come at its end: they are numbered until then as they will be. */
function pendingIds(text: string): string {
  return [...new Set([...text.matchAll(CITED)].map(([, id = '']) => id))].join('\n')
}

type ShowInline = (text: string) => ComponentChildren

interface GroupProps {
  readonly blocks: readonly Block[]
  readonly inline: ShowInline
}

/** While an answer grows, the last blocks alone are new ones. */
function Group({ blocks, inline }: GroupProps) {
  return useMemo(
    () => (
      <>
        {blocks.map((block, index) => (
          <Shown key={index} block={block} inline={inline} />
        ))}
      </>
    ),
    [...blocks, ...new Array<undefined>(GROUP - blocks.length), inline],
  )
}

function Shown({ block, inline }: { readonly block: Block; readonly inline: ShowInline }) {
  if (block.kind === 'rule') return <hr />
  if (block.kind === 'heading')
    return (
      <h3 class="pre" dir="auto">
        {inline(block.text)}
      </h3>
    )
  if (block.kind === 'quote')
    return (
      <blockquote class="pre" dir="auto">
        {inline(block.text)}
      </blockquote>
    )
  if (block.kind === 'paragraph')
    return (
      <p class="pre" dir="auto">
        {inline(block.text)}
      </p>
    )
  if (block.kind === 'code') {
    return (
      <div class="agents-code">
        <div class="row">
          <span class="small quiet grow">{block.language}</span>
          <CopyButton text={block.text} label="Copy the code" />
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: wide code is scrolled by keyboard */}
        <pre tabIndex={0} dir="ltr">
          <code>{block.text}</code>
        </pre>
      </div>
    )
  }
  if (block.kind === 'table') return <Table rows={block.rows} inline={inline} />
  const items = block.items.map((item, index) => (
    <li key={index}>
      <span class="pre" dir="auto">
        {inline(item.text)}
      </span>
      {item.blocks.map((inner, at) => (
        <Shown key={at} block={inner} inline={inline} />
      ))}
    </li>
  ))
  return block.first === null ? <ul>{items}</ul> : <ol start={block.first}>{items}</ol>
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
              <th key={index} scope="col" dir="auto">
                {inline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, index) => (
                <td key={index} dir="auto">
                  {inline(cell)}
                </td>
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
  if (citation === undefined) {
    return (
      <span class="agents-chip" title={ids[index]}>
        {index + 1}
      </span>
    )
  }
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
  const { knowledge_base, document_id: documentId, chunk_id: chunkId, start, end } = citation
  const [project = '', ...rest] = knowledge_base.split('.')
  const name = rest.join('.')
  if (start === null || end === null) return addressOf.document(project, name, documentId)
  const column = CHUNK_ID.exec(chunkId)?.[1]
  return addressOf.chunk(project, name, { documentId, start, end, column, chunkId })
}
