/** A text with its chunks in turns of two colours, darker where they overlap. Only what is near the screen is drawn. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { blocksOf, piecesOf, type Span } from './chunk-marks.ts'

interface ChunkedTextProps {
  readonly text: string
  readonly chunks: readonly Span[]
  readonly marked: Span | undefined
  readonly onPoint: (chunk: number | undefined) => void
}

export function ChunkedText({ text, chunks, marked, onPoint }: ChunkedTextProps) {
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
