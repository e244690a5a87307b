/** How far something is; without a `total` only that it goes on. */
interface ProgressProps {
  /** What goes on, for screen readers and as the words below the bar. */
  readonly label: string
  readonly done?: number | undefined
  readonly total?: number | null | undefined
}

export function Progress({ label, done, total }: ProgressProps) {
  const isKnown = done !== undefined && total !== undefined && total !== null && total > 0
  return (
    <div class="progress">
      {isKnown ? (
        <progress aria-label={label} value={Math.min(done, total)} max={total} />
      ) : (
        <progress aria-label={label} />
      )}
      <span class="small quiet">{label}</span>
    </div>
  )
}

/** Where something will be in a moment; shown after a while only, so that quick answers do not flicker. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading quiet" role="status">
      Loading {what} …
    </p>
  )
}
