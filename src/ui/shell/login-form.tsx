import { useEffect, useRef, useState } from 'preact/hooks'
import { logIn } from '../api/login.ts'
import { ApiError, asError } from '../api/request.ts'
import { Button } from '../components/button.tsx'
import { Failure } from '../components/failure.tsx'
import { Field } from '../components/form/field.tsx'

/** Asks for a name and its password. What was typed stays when they are wrong. */
export function LoginForm({ username = '' }: { readonly username?: string }) {
  const [failure, setFailure] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    fieldOf(form.current, username === '' ? 'username' : 'password')?.focus()
  }, [])
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (form.current === null || isBusy) return
    const typed = new FormData(form.current)
    setIsBusy(true)
    setFailure(undefined)
    try {
      await logIn(String(typed.get('username')), String(typed.get('password')))
    } catch (error) {
      setFailure(inWords(error, String(typed.get('password'))))
      setIsBusy(false)
      const password = fieldOf(form.current, 'password')
      password?.focus()
      password?.select()
    }
  }
  return (
    <form class="stack" ref={form} onSubmit={submit}>
      <Field label="Name">
        {(control) => (
          <input
            {...control}
            name="username"
            autocomplete="username"
            autocapitalize="none"
            spellcheck={false}
            defaultValue={username}
            required
          />
        )}
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
      <Button
        type="submit"
        look="primary"
        label={isBusy ? 'Logging in …' : 'Log in'}
        aria-disabled={isBusy}
      />
    </form>
  )
}

function fieldOf(form: HTMLFormElement | null, name: string): HTMLInputElement | null {
  const field = form?.elements.namedItem(name)
  return field instanceof HTMLInputElement ? field : null
}

function inWords(error: unknown, password: string): Error {
  if (!(error instanceof ApiError)) return asError(error)
  const isKey = error.code === 'wrong_credentials' && password.startsWith(KEY_START)
  const words = isKey ? KEY_WORDS : WORDS[error.code]
  return words === undefined ? error : new ApiError({ ...error, ...words })
}

/** How keys begin. */
const KEY_START = 'eider_'

const KEY_WORDS = {
  title: 'This is a key',
  message: 'Keys are for programs. People log in with their name and password',
}

const WORDS: Readonly<Record<string, { readonly title: string; readonly message: string }>> = {
  wrong_credentials: {
    title: 'Name or password is wrong',
    message: 'Capital letters matter in both. An admin of this server can set a new password',
  },
  too_many_logins: {
    title: 'Too many attempts',
    message: 'Wait a minute, then try again',
  },
}
