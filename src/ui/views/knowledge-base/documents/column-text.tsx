/** The text of one column with its chunks marked, and the list of them, from one to the next by keys. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { DocumentChunk, DocumentTexts } from '../../../api/records.ts'
import { Button, Icon } from '../../../components/button.tsx'
import { counted, shownCount } from '../../../components/numbers.ts'
import { addressOf, chunkNumber } from '../../../shell/addresses.ts'
import { useShortcuts } from '../../../shell/keyboard.tsx'
import {
  blocksOf,
  markOf,
  type NamedSpan,
  type PlacedSpan,
  piecesOf,
  placeIn,
  type Span,
} from './chunk-marks.ts'
import { TypedInput } from './typed-input.tsx'

interface ColumnTextProps {
  readonly of: KnowledgeBaseName
  readonly document: DocumentTexts
  readonly column: string
  readonly text: string
  readonly marked: NamedSpan | undefined
  /** Of several columns one has them. */
  readonly hasKeys: boolean
}

interface PlacedChunk extends PlacedSpan {
  readonly id: string
  readonly facts: DocumentChunk['metadata']
}

export function ColumnText({ of, document, column, text, marked, hasKeys }: ColumnTextProps) {
  const { route } = useLocation()
  const [pointed, setPointed] = useState<number>()
  // However another chunk was opened, it is the one that is told about.
  useLayoutEffect(() => setPointed(undefined), [marked?.start, marked?.end, marked?.number])
  const chunks = useMemo(() => chunksIn(document, column), [document, column])
  const { at, mark } = marked ? markOf(marked, chunks) : { at: -1, mark: undefined }
  const shown = pointed ?? Math.max(0, at)
  const open = (index: number) => {
    const chunk = chunks[index]
    if (chunk === undefined) return
    setPointed(undefined)
    route(addressOfChunk(of, document.id, column, chunk))
  }
  useShortcuts([
    { keys: 'j', does: 'The next chunk', run: () => hasKeys && open(at + 1) },
    { keys: 'k', does: 'The previous chunk', run: () => hasKeys && open(at - 1) },
  ])
  // The same element while only the pointer moves: a long text is not compared again.
  const marks = useMemo(
    () => <ChunkedText text={text} chunks={chunks} marked={mark} onPoint={setPointed} />,
    [text, chunks, mark?.start, mark?.end],
  )
  return (
    <section class="kb-document" aria-label={column}>
      {marks}
      <aside class="panel kb-chunks stack" aria-label={`Chunks of ${column}`}>
        <div class="row">
          <h3 class="grow">{counted(chunks.length, 'chunk')}</h3>
          <Button
            look="small"
            label="Previous"
            aria-disabled={at <= 0}
            onClick={() => open(at - 1)}
          />
          <Button
            look="small"
            label="Next"
            aria-disabled={at >= chunks.length - 1}
            onClick={() => open(at + 1)}
          />
        </div>
        <ChunkFacts of={of} chunk={chunks[shown]} index={shown} text={text} />
        <ChunkLinks {...{ of, column, chunks, at }} documentId={document.id} onOpen={open} />
      </aside>
    </section>
  )
}

function addressOfChunk(
  { project, name }: KnowledgeBaseName,
  documentId: string,
  column: string,
  { id: chunkId, cut }: PlacedChunk,
): string {
  return addressOf.chunk(project, name, { documentId, column, ...cut, chunkId })
}

function chunksIn({ chunks }: DocumentTexts, column: string): readonly PlacedChunk[] {
  return chunks
    .filter(({ content_column: own }) => own === column)
    .map(({ chunk_id: id, start_char: start, end_char: end, metadata: facts }) => {
      return { id, number: chunkNumber(id), start, end, facts, cut: placeIn(id) ?? { start, end } }
    })
}

interface ChunkFactsProps {
  readonly of: KnowledgeBaseName
  readonly chunk: PlacedChunk | undefined
  readonly index: number
  readonly text: string
}

/** Of an address: what stands between may allow no more, and a model reads little more. */
const SOUGHT_CHARS_MAX = 1000

function ChunkFacts({ of, chunk, index, text }: ChunkFactsProps) {
  if (chunk === undefined) return null
  const { start, end, facts } = chunk
  const sought = text.slice(start, Math.min(end, start + SOUGHT_CHARS_MAX)).toWellFormed()
  const query = new URLSearchParams({ q: sought.trim() })
  const known = Object.entries(facts).filter(([, value]) => value !== null)
  return (
    <div class="stack small">
      <p>
        Chunk {shownCount(index + 1)}: {counted(end - start, 'character')}, {shownCount(start)}–
        {shownCount(end)}
        {known.map(([name, value]) => (
          <span key={name} class="quiet" dir="auto">
            {` · ${name} ${String(value).slice(0, 80)}`}
          </span>
        ))}
      </p>
      <a class="button small" href={`${addressOf.searchLab(of.project, of.name)}?${query}`}>
        <Icon name="search" />
        More like this
      </a>
    </div>
  )
}

interface ChunkLinksProps {
  readonly of: KnowledgeBaseName
  readonly documentId: string
  readonly column: string
  readonly chunks: readonly PlacedChunk[]
  /** The one that is opened; -1: none. */
  readonly at: number
  readonly onOpen: (index: number) => void
}

const LISTED_MAX = 200
const LISTED_BEFORE = 20

function ChunkLinks({ of, documentId, column, chunks, at, onOpen }: ChunkLinksProps) {
  const first = Math.max(0, Math.min(at - LISTED_BEFORE, chunks.length - LISTED_MAX))
  return (
    <>
      {chunks.length > LISTED_MAX && (
        <span class="row small">
          Go to chunk
          <TypedInput
            kind="number"
            label="Go to chunk"
            class="kb-page"
            min={1}
            max={chunks.length}
            value={at < 0 ? '' : String(at + 1)}
            onCommit={(text) => onOpen(Number(text) - 1)}
          />
        </span>
      )}
      <ol class="kb-values">
        {chunks.slice(first, first + LISTED_MAX).map((chunk, index) => (
          <li key={chunk.id}>
            <a
              class="small"
              href={addressOfChunk(of, documentId, column, chunk)}
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
    </>
  )
}

interface ChunkedTextProps {
  readonly text: string
  readonly chunks: readonly Span[]
  readonly marked: Span | undefined
  readonly onPoint: (chunk: number | undefined) => void
}

/** A text with its chunks in turns of two colours, darker where they overlap. Only what is near the screen is drawn. */
function ChunkedText({ text, chunks, marked, onPoint }: ChunkedTextProps) {
  const blocks = useMemo(() => blocksOf(text), [text])
  return (
    <div class="kb-text panel" dir="auto">
      {blocks.map((block) => (
        <Block
          key={block.start}
          block={block}
          text={text}
          chunks={chunks}
          marked={marked}
          onPoint={onPoint}
        />
      ))}
    </div>
  )
}

/** Some lines of a phone; the browser keeps what is seen in place when it turns out otherwise. */
const CHARS_PER_PIXEL = 4

function Block({
  block,
  text,
  chunks,
  marked,
  onPoint,
}: ChunkedTextProps & { readonly block: Span }) {
  const element = useRef<HTMLDivElement>(null)
  const mark = useRef<HTMLElement>(null)
  const holdsMark = marked !== undefined && marked.start >= block.start && marked.start < block.end
  const [isNear, setIsNear] = useState(false)
  const [height, setHeight] = useState((block.end - block.start) / CHARS_PER_PIXEL)
  const isDrawn = isNear || holdsMark
  useEffect(() => {
    const watched = element.current
    if (watched === null) return
    const observer = new IntersectionObserver(
      (entries) => {
        const entry = entries.at(-1)
        if (entry === undefined) return
        if (!entry.isIntersecting) setHeight(entry.boundingClientRect.height)
        setIsNear(entry.isIntersecting)
      },
      { rootMargin: '1200px' },
    )
    observer.observe(watched)
    return () => observer.disconnect()
  }, [])
  useEffect(() => mark.current?.scrollIntoView({ block: 'center' }), [marked?.start, marked?.end])
  if (!isDrawn) return <div ref={element} style={{ height: `${height}px` }} />
  return (
    <div ref={element}>
      {piecesOf(block, chunks, marked).map((piece) => {
        const [chunk, ...more] = piece.chunks
        const look = chunk === undefined ? '' : more.length > 0 ? 'both' : `turn-${chunk % 2}`
        const words = text.slice(piece.start, piece.end)
        const isFirst = holdsMark && piece.isMarked && piece.start === marked.start
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: the list beside it says the same by keyboard
          <span key={piece.start} class={look} onMouseEnter={() => onPoint(piece.chunks.at(-1))}>
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
  )
}
