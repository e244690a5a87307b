/** Who is logged in decides what is shown: the page, the page with a question over it, or only the login. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { logOut } from '../api/login.ts'
import { account, loginState } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { LoginForm } from './login-form.tsx'
import { tellFailed } from './notices.tsx'
import { ThemeButton } from './theme.tsx'

/** Its children are shown to those who may see them, and to nobody before that is known. */
export function LoginGate({ children }: { readonly children: ComponentChildren }) {
  const state = loginState.value
  if (state === 'needed') return <LoginPage />
  return (
    <>
      {children}
      {state === 'expired' && <LoginAgain />}
    </>
  )
}

function LoginPage() {
  useEffect(() => {
    document.title = 'Log in · Eider'
  }, [])
  return (
    <main class="login-page" id="view">
      <div class="login-box">
        <h1>
          <img src="/favicon.ico" alt="" width="40" height="40" />
          Eider
        </h1>
        <LoginForm />
        <footer class="row">
          <a class="small" href="/docs">
            Documentation
          </a>
          <span class="grow" />
          <ThemeButton />
        </footer>
      </div>
    </main>
  )
}

/** Over whatever is shown, which stays as it is: the requests that wait go on afterwards. */
function LoginAgain() {
  const here = account.value
  const leave = () => {
    logOut().catch(tellFailed)
  }
  return (
    <Dialog title="Log in again" staysOnClickBeside>
      <p class="quiet">
        Your login has expired. What you typed is still here and is sent once you log in again. If
        somebody else logs in, the page starts fresh for them.
      </p>
      <LoginForm username={here?.kind === 'user' ? here.name : ''} />
      <Button look="quiet" label="Sign out and discard what was typed" onClick={leave} />
    </Dialog>
  )
}
