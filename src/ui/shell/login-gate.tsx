/** Asks for the login over whatever is shown, so that nothing typed is lost when a login expires. */
import { useState } from 'preact/hooks'
import { request } from '../api/request.ts'
import { loginState } from '../api/session.ts'
import { Dialog } from '../components/dialog.tsx'
import { Failure } from '../components/failure.tsx'
import { Field } from '../components/field.tsx'

export function LoginGate() {
  const [failure, setFailure] = useState<Error>()
  if (loginState.value !== 'needed') return null
  const logIn = async (event: SubmitEvent) => {
    event.preventDefault()
    if (!(event.currentTarget instanceof HTMLFormElement)) return
    const form = new FormData(event.currentTarget)
    try {
      const json = { username: form.get('username'), password: form.get('password') }
      await request('/api/login', { method: 'POST', json })
      setFailure(undefined)
      loginState.value = 'on'
    } catch (error) {
      setFailure(error instanceof Error ? error : new Error(String(error)))
    }
  }
  return (
    <Dialog title="Log in" onClose={() => {}} staysOnClickBeside>
      <form class="stack" onSubmit={logIn}>
        <Field label="Username">
          {(control) => <input {...control} name="username" autocomplete="username" required />}
        </Field>
        <Field label="Password">
          {(control) => (
            <input
              {...control}
              name="password"
              type="password"
              autocomplete="current-password"
              required
            />
          )}
        </Field>
        {failure && <Failure error={failure} />}
        <button type="submit" class="button primary">
          Log in
        </button>
      </form>
    </Dialog>
  )
}
