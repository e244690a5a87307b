/** Who is logged in, and the way out. */
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { hasKept, logOut } from '../api/login.ts'
import { type Account, account, loginState, roleOf } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { tellFailed } from './notices.tsx'

export function AccountButton() {
  const here = account.value
  if (here === undefined || loginState.value === 'off') return null
  return <AccountMenu here={here} />
}

function AccountMenu({ here }: { readonly here: Account }) {
  const { route } = useLocation()
  const menu = useRef<HTMLDivElement>(null)
  const [isLeaving, setIsLeaving] = useState(false)
  const leave = () => {
    menu.current?.hidePopover()
    if (hasKept()) setIsLeaving(true)
    else logOut().catch(tellFailed)
  }
  const changePassword = () => {
    menu.current?.hidePopover()
    route('/operations/access')
  }
  return (
    <>
      <Button look="quiet" icon="user" popovertarget="account-menu">
        <span class="wide-words account-name" dir="auto">
          {here.name}
        </span>
        <span class="visually-hidden">Account</span>
      </Button>
      <div id="account-menu" class="account-menu" popover="auto" ref={menu}>
        <p>
          <strong dir="auto">{here.name}</strong>{' '}
          <span class="badge">{here.kind === 'user' ? roleOf(here) : here.kind}</span>
        </p>
        {here.projects !== null && (
          <p class="small quiet" dir="auto">
            Only {here.projects.join(', ') || 'no projects'}
          </p>
        )}
        {here.kind === 'user' && here.id !== '0' && (
          <Button icon="key" label="Change password" onClick={changePassword} />
        )}
        <Button icon="leave" label="Sign out" onClick={leave} />
      </div>
      {isLeaving && (
        <ConfirmDialog
          title="Sign out?"
          verb="Sign out"
          onConfirm={logOut}
          onClose={() => setIsLeaving(false)}
        >
          <p>
            This browser deletes what it keeps for you: statements, drafts and history that are not
            saved on the server.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
