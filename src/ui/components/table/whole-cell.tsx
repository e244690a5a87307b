import { useMemo } from 'preact/hooks'
import type { Cell } from '../../api/sql.ts'
import { shownCount } from '../../format/numbers.ts'
import { CopyButton } from '../copy-button.tsx'
import { Dialog } from '../dialog.tsx'
import { cellText } from './cell-text.ts'

/** What is shown of a cell that somebody opened: a text of 50 MB would stop the browser. */
const CHARS_MAX = 100_000

interface WholeCellProps {
  readonly name: string
  readonly type: string
  readonly cell: Cell
  readonly onClose: () => void
}

/** One cell with all that it holds. */
export function WholeCell({ name, type, cell, onClose }: WholeCellProps) {
  const text = useMemo(() => {
    return typeof cell === 'object' && cell !== null
      ? JSON.stringify(cell, null, 2)
      : cellText(cell)
  }, [cell])
  return (
    <Dialog title={name} size="wide" onClose={onClose}>
      <div class="row">
        <CopyButton text={text} />
        <span class="small quiet">
          {type && `${type}, `}
          {shownCount(text.length)} characters
        </span>
        {text.length > CHARS_MAX && (
          <span class="badge warn">The first {shownCount(CHARS_MAX)} are shown</span>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
      <pre class="data-whole" dir="auto" tabIndex={0}>
        {text.slice(0, CHARS_MAX)}
      </pre>
    </Dialog>
  )
}
