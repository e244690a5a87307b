import { isLost } from '../api/connection.ts'
import { Icon } from '../components/icon.tsx'

/** Says that the server does not answer, as long as it does not. */
export function ConnectionBanner() {
  if (!isLost.value) return null
  return (
    <p class="connection-banner" role="alert">
      <Icon name="warning" />
      The server does not answer. Nothing that you typed is lost; this page goes on as soon as it is
      back.
    </p>
  )
}
