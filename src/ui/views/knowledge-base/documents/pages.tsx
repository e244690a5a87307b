/** Which page of how many, and the way to the others. */
import { useLocation } from 'preact-iso/router'
import { shownCount } from '../../../format/numbers.ts'
import { type ListAddress, PAGE_ROWS, queryOfList } from './list-address.ts'
import { TypedInput } from './typed-input.tsx'

interface PagesProps {
  readonly here: string
  readonly shown: ListAddress
  readonly next: string | null
  /** Of all rows; null: nobody counted. */
  readonly total: number | null
}

export function Pages({ here, shown, next, total }: PagesProps) {
  const { route } = useLocation()
  if (shown.page === 1 && next === null) return null
  const last = total === null ? null : Math.max(1, Math.ceil(total / PAGE_ROWS))
  const to = (page: number, cursor?: string) => {
    return `${here}${queryOfList({ ...shown, page, cursor: cursor || undefined })}`
  }
  const toTop = () => scrollTo({ top: 0 })
  const jump = (text: string) => {
    const page = Math.max(1, Math.min(Number.parseInt(text, 10) || 1, last ?? 1))
    if (page === shown.page) return
    toTop()
    route(to(page))
  }
  return (
    <nav class="row" aria-label="Pages">
      {shown.page > 1 && (
        <a class="button small" href={to(shown.page - 1)} onClick={toTop}>
          Previous page
        </a>
      )}
      {last === null ? (
        <span class="small quiet">Page {shown.page}</span>
      ) : (
        <span class="row small quiet">
          Page
          <TypedInput
            kind="number"
            label="Page"
            class="kb-page"
            min={1}
            max={last}
            value={String(shown.page)}
            onCommit={jump}
          />
          of {shownCount(last)}
        </span>
      )}
      {next !== null && (
        <a class="button small" href={to(shown.page + 1, next)} onClick={toTop}>
          Next page
        </a>
      )}
    </nav>
  )
}
