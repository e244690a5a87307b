/** Who may use the server: keys, users, the own password, and what was changed by whom. */
import { account, loginState, may, mayRunServer } from '../../../api/session.ts'
import { AuditList } from './audit-list.tsx'
import { KeyList } from './key-list.tsx'
import { OwnPassword } from './own-password.tsx'
import { UserList } from './user-list.tsx'

export function AccessPane() {
  const here = account.value
  const isOn = loginState.value !== 'off'
  return (
    <div class="stack">
      {isOn && here?.kind === 'user' && here.id !== '0' && <OwnPassword />}
      {isOn && here?.kind === 'user' && here.id === '0' && (
        <p class="quiet">Your password comes from the server's settings. Change it there.</p>
      )}
      {may('admin') ? (
        <>
          <KeyList />
          <UserList isLoginOn={isOn} />
        </>
      ) : (
        <p class="quiet">Keys and users are shown to admins.</p>
      )}
      {mayRunServer() && <AuditList />}
    </div>
  )
}
