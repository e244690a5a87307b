/** A stored document: its text with the borders of its chunks, and its metadata. */
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { shortened } from '../../../core/short-text.ts'
import { deleteDocuments, getDocument } from '../../api/documents.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { DocumentTexts } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { Button, CopyButton, Icon } from '../../components/button.tsx'
import { ConfirmButton, DialogButton } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { counted, shownCount } from '../../components/numbers.ts'
import { LISTED_MAX, Loaded } from '../../components/record-list.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf, chunkNumber } from '../../shell/addresses.ts'
import { tellDone } from '../../shell/notices.tsx'
import {
  areMadeOfJson,
  blocksOf,
  markOf,
  type NamedSpan,
  type PlacedSpan,
  piecesOf,
  placeIn,
  type Span,
} from './chunk-marks.ts'
import { DocumentForm } from './document-form.tsx'
import { KnowledgeBaseFrame } from './knowledge-base-frame.tsx'

export function DocumentView({ project, name, id }: KnowledgeBaseName & { readonly id: string }) {
  const { query, route } = useLocation()
  const of = { project, name }
  const read = useResource((signal) => getDocument(of, id, signal), [project, name, id])
  const remove = async () => {
    await deleteDocuments(of, { id: { in: [id] } })
    tellDone('Deleted the document')
    route(addressOf.knowledgeBase(project, name))
  }
  const [start, end] = [Number(query.start), Number(query.end)]
  const number = query.chunk === undefined ? undefined : Number(query.chunk)
  const marked = query.start !== undefined && end > start ? { start, end, number } : undefined
  return (
    <KnowledgeBaseFrame project={project} name={name} part={id}>
      <Loaded of={read} what="the document">
        {(document) => (
          <>
            <div class="row">
              <h2 class="grow clamped" title={document.id}>
                {document.title ?? document.id}
              </h2>
              <CopyButton text={document.id} label="Copy id" />
              {may('write') && (
                <>
                  <DialogButton look="small" icon="edit" label="Edit">
                    {(onClose) => (
                      <DocumentForm {...{ of, document, onClose }} onSaved={read.reload} />
                    )}
                  </DialogButton>
                  <ConfirmButton
                    look="small"
                    icon="trash"
                    label="Delete"
                    asks="Delete this document?"
                    onConfirm={remove}
                  >
                    It is deleted with all of its chunks. This cannot be undone.
                  </ConfirmButton>
                </>
              )}
            </div>
            <Metadata document={document} />
            {Object.entries(document.content).map(([column, text]) => {
              const isShown = column === (query.column ?? document.content_columns[0])
              return (
                <ColumnText
                  key={column}
                  {...{ of, document, column, text }}
                  marked={isShown ? marked : undefined}
                />
              )
            })}
          </>
        )}
      </Loaded>
    </KnowledgeBaseFrame>
  )
}

function Metadata({ document: { metadata, exact, chunks } }: { readonly document: DocumentTexts }) {
  const entries = Object.entries(metadata).filter(([, value]) => value !== null)
  return (
    <>
      {!exact && (
        <p class="small quiet">
          {areMadeOfJson(chunks)
            ? 'The chunks were made from JSON, which is not stored.'
            : 'White space between chunks is not stored, so it may differ here.'}
        </p>
      )}
      {entries.length > 0 && (
        <Facts facts={entries.map(([name, value]) => [name, <Value key={name} value={value} />])} />
      )}
    </>
  )
}

const VALUE_CHARS_MAX = 300
/** A longer value gets a line of its own. */
const SHORT_CHARS_MAX = 40

/** Only web addresses become links, because others, such as `javascript:`, could run code. */
function Value({ value }: { readonly value: unknown }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const look = text.length > SHORT_CHARS_MAX ? 'small long' : 'small'
  if (!/^https?:\/\/\S+$/.test(text)) {
    return (
      <span class={look} title={text.length > VALUE_CHARS_MAX ? text : undefined}>
        {shortened(text, VALUE_CHARS_MAX)}
      </span>
    )
  }
  return (
    <a class={look} href={text} target="_blank" rel="noreferrer">
      {text}
    </a>
  )
}

interface ColumnTextProps {
  readonly of: KnowledgeBaseName
  readonly document: DocumentTexts
  readonly column: string
  readonly text: string
  readonly marked: NamedSpan | undefined
}

interface PlacedChunk extends PlacedSpan {
  readonly id: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** The text of one column with its chunks, and a list of them. */
function ColumnText({ of, document, column, text, marked }: ColumnTextProps) {
  const { route } = useLocation()
  const chunks = useMemo(() => chunksIn(document, column), [document, column])
  const { at, mark } = marked ? markOf(marked, chunks) : { at: -1, mark: undefined }
  const addressAt = ({ id: chunkId, cut }: PlacedChunk) => {
    const place = { documentId: document.id, column, ...cut, chunkId }
    return addressOf.chunk(of.project, of.name, place)
  }
  const open = (index: number) => {
    const chunk = chunks[index]
    if (chunk !== undefined) route(addressAt(chunk))
  }
  const shown = chunks[Math.max(0, at)]
  const first = Math.max(0, Math.min(at - LISTED_BEFORE, chunks.length - LISTED_MAX))
  return (
    <section class="with-side" aria-label={column}>
      <ChunkedText text={text} chunks={chunks} marked={mark} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
      <section class="panel side kb-chunks stack" aria-label={`Chunks of ${column}`} tabIndex={0}>
        <div class="row">
          <h3 class="grow">{counted(chunks.length, 'chunk')}</h3>
          {chunks.length > 1 &&
            [at - 1, at + 1].map((next) => (
              <Button
                key={next - at}
                look="small"
                label={next < at ? 'Previous' : 'Next'}
                aria-disabled={chunks[next] === undefined}
                onClick={() => open(next)}
              />
            ))}
        </div>
        {shown && <ChunkFacts of={of} chunk={shown} index={Math.max(0, at)} text={text} />}
        <ol class="list">
          {chunks.slice(first, first + LISTED_MAX).map((chunk, index) => (
            <li key={chunk.id}>
              <a
                class="small entry"
                href={addressAt(chunk)}
                aria-current={first + index === at ? 'true' : undefined}
              >
                {first + index + 1}: {shownCount(chunk.start)}–{shownCount(chunk.end)}
              </a>
            </li>
          ))}
        </ol>
        {chunks.length > LISTED_MAX && (
          <p class="small quiet">
            {LISTED_MAX} of {shownCount(chunks.length)} are listed.
          </p>
        )}
      </section>
    </section>
  )
}

const LISTED_BEFORE = 20

function chunksIn({ chunks }: DocumentTexts, column: string): readonly PlacedChunk[] {
  return chunks
    .filter(({ content_column: own }) => own === column)
    .map(({ chunk_id: id, start_char: start, end_char: end, metadata: facts }) => {
      return { id, number: chunkNumber(id), start, end, facts, cut: placeIn(id) ?? { start, end } }
    })
}

/** The length of the text for "More like this": URLs are limited, and models read little more. */
const SOUGHT_CHARS_MAX = 1000

function ChunkFacts(props: {
  readonly of: KnowledgeBaseName
  readonly chunk: PlacedChunk
  readonly index: number
  readonly text: string
}) {
  const {
    of,
    chunk: { start, end, facts },
    index,
    text,
  } = props
  const sought = text.slice(start, Math.min(end, start + SOUGHT_CHARS_MAX)).toWellFormed()
  const query = new URLSearchParams({ q: sought.trim() })
  const known = Object.entries(facts).filter(([, value]) => value !== null)
  return (
    <div class="stack small">
      <p>
        Chunk {shownCount(index + 1)}: {counted(end - start, 'character')}
        {known.map(([name, value]) => (
          <bdi key={name} class="quiet">
            {` · ${name} ${shortened(String(value), 80)}`}
          </bdi>
        ))}
      </p>
      <a class="button small" href={`${addressOf.searchLab(of.project, of.name)}?${query}`}>
        <Icon name="search" />
        More like this
      </a>
    </div>
  )
}

/** In two colours, darker where they overlap. CSS skips rendering distant blocks. */
function ChunkedText(props: {
  readonly text: string
  readonly chunks: readonly Span[]
  readonly marked: Span | undefined
}) {
  const { text, chunks, marked } = props
  const mark = useRef<HTMLElement>(null)
  const blocks = useMemo(() => blocksOf(text), [text])
  useEffect(() => mark.current?.scrollIntoView({ block: 'center' }), [marked?.start, marked?.end])
  return (
    <div class="kb-text panel">
      {blocks.map((block) => (
        <div key={block.start} class="kb-block">
          {piecesOf(block, chunks, marked).map((piece) => {
            const [chunk, ...more] = piece.chunks
            const look = chunk === undefined ? '' : more.length > 0 ? 'both' : `turn-${chunk % 2}`
            const words = text.slice(piece.start, piece.end)
            const isFirst = piece.isMarked && piece.start === marked?.start
            return (
              <span key={piece.start} class={look}>
                {piece.chunks.map(
                  (one) =>
                    chunks[one]?.start === piece.start && (
                      <span key={one} class="kb-number" aria-hidden="true">
                        {one + 1}
                      </span>
                    ),
                )}
                {piece.isMarked ? <mark ref={isFirst ? mark : null}>{words}</mark> : words}
              </span>
            )
          })}
        </div>
      ))}
    </div>
  )
}
