/** What failed and what to do: at the place where its result would be. */
import { ApiError } from '../api/request.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'

export function Failure({
  error,
  title: given,
  onRetry,
}: {
  readonly error: Error
  /** Of what the server says in an answer; without it, what is no answer of the API is a mistake of the page. */
  readonly title?: string
  readonly onRetry?: (() => void) | undefined
}) {
  const isKnown = error instanceof ApiError
  const title = given ?? (isKnown ? error.title : 'Something went wrong on this page')
  const hasPage = isKnown && error.code !== 'unreachable'
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div>
        <strong dir="auto">{title}</strong>
        <p class="pre" dir="auto">
          {error.message}
        </p>
        {hasPage && (
          <a class="small" href={`/docs/errors#${error.code}`} target="_blank" rel="noreferrer">
            About <code>{error.code}</code>
          </a>
        )}
      </div>
      {onRetry && <Button label="Try again" onClick={onRetry} />}
    </div>
  )
}

/** Code that is loaded when it is needed did not come. */
export function notLoaded(what: string): ApiError {
  return new ApiError({
    code: 'unreachable',
    status: 0,
    title: `${what} could not be loaded`,
    message: 'The server cannot be reached or was updated. Reload the page',
  })
}
