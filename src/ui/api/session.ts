/** Who is logged in. The token is a cookie that scripts cannot read; here is only whether there is one. */
import { signal } from '@preact/signals'

/** `off`: the server has no login. `needed`: nobody is logged in, or the login has expired. */
export type LoginState = 'unknown' | 'off' | 'needed' | 'on'

export const loginState = signal<LoginState>('unknown')

/** Ends with the next login. @throws what `abort` was aborted with */
export function loggedInAgain(abort?: AbortSignal): Promise<void> {
  loginState.value = 'needed'
  return new Promise((resolve, reject) => {
    const stop = loginState.subscribe((state) => {
      if (state !== 'on') return
      queueMicrotask(() => stop())
      resolve()
    })
    abort?.addEventListener('abort', () => {
      stop()
      reject(abort.reason)
    })
  })
}
