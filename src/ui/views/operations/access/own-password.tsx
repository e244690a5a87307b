/** Another password for whoever is logged in. */
import { useState } from 'preact/hooks'
import { request } from '../../../api/request.ts'
import { Button } from '../../../components/button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { TextField } from '../../../components/form/text-field.tsx'
import { useAction } from '../../../components/resource.ts'
import { tellDone } from '../../../shell/notices.tsx'

export function OwnPassword() {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const { act, failure, isBusy } = useAction()
  const change = () =>
    act(async () => {
      const json = { current_password: current, password: next }
      await request('/api/password', { method: 'POST', json })
      setCurrent('')
      setNext('')
      tellDone('Your password is changed, and your other sessions have ended')
    })
  return (
    <form
      class="panel stack operations-form"
      aria-labelledby="operations-password"
      onSubmit={(event) => {
        event.preventDefault()
        change()
      }}
    >
      <h2 id="operations-password">Your password</h2>
      <TextField
        label="Current password"
        type="password"
        required
        autocomplete="current-password"
        value={current}
        onText={setCurrent}
      />
      <TextField
        label="New password"
        hint="At least 8 characters"
        type="password"
        required
        autocomplete="new-password"
        value={next}
        onText={setNext}
      />
      {failure && <Failure error={failure} />}
      <div class="row end">
        <Button type="submit" label="Change password" aria-disabled={isBusy} />
      </div>
    </form>
  )
}
