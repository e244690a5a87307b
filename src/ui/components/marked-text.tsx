/** A text with some ranges marked. It is always inserted as text, never as HTML. */
import type { ComponentChildren } from 'preact'

/** Start and end in UTF-16 code units, like in the API. */
export type Range = readonly number[]

export function MarkedText(props: {
  readonly text: string
  /** Ranges in text order. A range that overlaps the previous one is skipped. */
  readonly ranges: readonly Range[]
}) {
  const { text, ranges } = props
  const parts: ComponentChildren[] = []
  let at = 0
  for (const [start = 0, end = 0] of ranges) {
    if (start < at || end <= start || start >= text.length) continue
    parts.push(text.slice(at, start), <mark key={start}>{text.slice(start, end)}</mark>)
    at = end
  }
  return (
    <span dir="auto">
      {parts}
      {text.slice(at)}
    </span>
  )
}
