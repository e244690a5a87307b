/** A part of a view from what the server answers: a word while it loads, and why where it does not. */
import type { ComponentChildren } from 'preact'
import { Failure } from './failure.tsx'
import { Loading } from './progress.tsx'
import type { Resource } from './resource.ts'

interface LoadedProps<T> {
  readonly of: Resource<T>
  /** What is loaded: `the jobs`. */
  readonly what: string
  readonly children: (data: T) => ComponentChildren
}

export function Loaded<T>({ of: { data, failure, reload }, what, children }: LoadedProps<T>) {
  return (
    <>
      {failure && <Failure error={failure} onRetry={reload} />}
      {data === undefined ? failure === undefined && <Loading what={what} /> : children(data)}
    </>
  )
}
