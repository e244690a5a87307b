/** What is shown in place of a result: an error, a loading state, progress, or an empty state. */
import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../api/request.ts'
import { Button, Icon, type IconName } from './button.tsx'

export function Failure(props: {
  readonly error: Error
  /** For server errors. Without it, other errors are reported as bugs of the page. */
  readonly title?: string
  readonly onRetry?: (() => void) | undefined
  /** What to do. */
  readonly children?: ComponentChildren
}) {
  const { error, title: given, onRetry, children } = props
  const isKnown = error instanceof ApiError
  const title = given ?? (isKnown ? error.title : 'Something went wrong on this page')
  const hasPage = isKnown && error.code !== 'unreachable'
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{title}</strong>
        {/* A caret below a line of SQL points at the character above it. */}
        <p class={`pre ${error.message.includes('\n') ? 'mono' : ''}`}>{error.message}</p>
        {hasPage && (
          <a class="small" href={`/docs/errors#${error.code}`} target="_blank" rel="noreferrer">
            About <code>{error.code}</code>
          </a>
        )}
        {children}
      </div>
      {onRetry && <Button label="Try again" onClick={onRetry} />}
    </div>
  )
}

/** The error for code that could not be loaded. */
export function notLoaded(what: string): ApiError {
  return new ApiError({
    code: 'unreachable',
    status: 0,
    title: `${what} could not be loaded`,
    message: 'The server cannot be reached or was updated. Reload the page',
  })
}

export function Progress(props: {
  /** Describes the work, for screen readers and for the text below the bar. */
  readonly label: string
  readonly done?: number | undefined
  readonly total?: number | null | undefined
}) {
  const { label, done, total } = props
  const isKnown = done !== undefined && total !== undefined && total !== null && total > 0
  return (
    <div class="list">
      {isKnown ? (
        <progress aria-label={label} value={Math.min(done, total)} max={total} />
      ) : (
        <progress aria-label={label} />
      )}
      <span class="small quiet">{label}</span>
    </div>
  )
}

/** A placeholder that appears only after a moment, so that quick answers do not flicker. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading quiet" role="status">
      Loading {what} …
    </p>
  )
}

/** What went wrong beside a result. */
export function Warnings({ of = [] }: { readonly of?: readonly string[] | undefined }) {
  return (
    <>
      {of.map((warning) => (
        <p key={warning} class="warning small pre">
          {warning}
        </p>
      ))}
    </>
  )
}

/** Shown instead of an empty list. Says why it is empty and what to do. */
export function EmptyState(props: {
  readonly icon: IconName
  readonly title: string
  /** A sentence that says what to do, with the buttons for it. */
  readonly children?: ComponentChildren
}) {
  const { icon, title, children } = props
  return (
    <div class="empty-state">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children}
    </div>
  )
}

/** Loaded when first shown. @param load imports the module and returns a component */
export function lazyView<P extends object>(
  load: () => Promise<ComponentType<P>>,
): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return function LazyView(props: P) {
    const [View, setView] = useState(() => loaded)
    const [failure, setFailure] = useState<Error>()
    useEffect(() => {
      if (loaded !== undefined) return
      load().then(
        (view) => {
          loaded = view
          setView(() => view)
        },
        () => setFailure(notLoaded('This view')),
      )
    }, [])
    if (failure) return <Failure error={failure} onRetry={() => location.reload()} />
    return View === undefined ? <Loading what="the view" /> : <View {...props} />
  }
}
