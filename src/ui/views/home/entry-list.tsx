/** What there is of one kind: its heading, and one line each. */
import type { ComponentChildren } from 'preact'
import { counted } from '../../format/numbers.ts'

/** More are found by the navigation and the palette. */
const SHOWN_MAX = 50

interface EntryListProps<T> {
  readonly title: string
  readonly all: readonly T[]
  /** There is more to say of each than its name. */
  readonly isWide?: boolean
  /** One line, as an `<li>` with a key. */
  readonly children: (one: T) => ComponentChildren
}

export function EntryList<T>({ title, all, isWide = false, children }: EntryListProps<T>) {
  if (all.length === 0) return null
  const rest = all.length - SHOWN_MAX
  return (
    <section class="home-part">
      <h3>
        {title} <span class="quiet small">{all.length}</span>
      </h3>
      <ul class={`home-entries ${isWide ? 'wide' : ''}`}>
        {all.slice(0, SHOWN_MAX).map(children)}
        {rest > 0 && (
          <li class="home-rest small quiet">
            and {counted(rest, 'more', 'more')}: find them by Ctrl+K
          </li>
        )}
      </ul>
    </section>
  )
}
