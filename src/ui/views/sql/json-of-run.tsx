/** The first rows of a run as objects. */
import { CopyButton } from '../../components/button.tsx'
import { shownCount } from '../../components/numbers.ts'
import type { Run } from './runs.ts'

const ROWS_MAX = 200
const TEXT_CHARS_MAX = 2000

export function JsonOfRun({ run }: { readonly run: Run }) {
  const text = JSON.stringify(objectsOf(run), withoutLongTexts, 2)
  return (
    <div class="stack">
      <div class="row">
        <CopyButton label="Copy this JSON" text={text} />
        {run.rows.length > ROWS_MAX && (
          <span class="small quiet">
            The first {shownCount(ROWS_MAX)} rows. An export has all of them.
          </span>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
      <pre class="data-whole panel" tabIndex={0} dir="auto">
        {text}
      </pre>
    </div>
  )
}

/** Of two columns with one name, the second gets a number. */
export function keysOf(columns: Run['columns']): readonly string[] {
  const seen = new Set<string>()
  return columns.map(({ name }) => {
    let key = name
    for (let count = 1; seen.has(key); count += 1) key = `${name}_${count}`
    seen.add(key)
    return key
  })
}

function objectsOf({ columns, rows }: Run): readonly unknown[] {
  const keys = keysOf(columns)
  return rows.slice(0, ROWS_MAX).map((row) => {
    return Object.fromEntries(keys.map((key, index) => [key, row[index]]))
  })
}

/** A text of 50 MB would keep the page busy for long; the table opens it, and an export has all of it. */
function withoutLongTexts(_key: string, value: unknown): unknown {
  const isLong = typeof value === 'string' && value.length > TEXT_CHARS_MAX
  return isLong ? `${value.slice(0, TEXT_CHARS_MAX)} … (cut here)` : value
}
