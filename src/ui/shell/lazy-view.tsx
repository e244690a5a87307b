/** A view whose code is loaded when it is opened for the first time. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failure, notLoaded } from '../components/failure.tsx'
import { Loading } from '../components/progress.tsx'

/** @param load the import of its module, and which of its components it is */
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
