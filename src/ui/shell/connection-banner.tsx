import { isLost, isOutdated } from '../api/connection.ts'
import { Button } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'

/** Says that the server does not answer, as long as it does not; and that it came back as another version. */
export function ConnectionBanner() {
  return (
    <>
      {isLost.value && (
        <p class="connection-banner" role="alert">
          <Icon name="warning" />
          The server does not answer. Nothing that you typed is lost; this page continues as soon as
          it is back.
        </p>
      )}
      {isOutdated.value && !isLost.value && (
        <div class="connection-banner newer" role="status">
          <Icon name="download" />
          <span class="grow">
            The server was updated. Reload the page when it suits you; what you have not saved is
            lost then.
          </span>
          <Button look="small" label="Reload" onClick={() => location.reload()} />
        </div>
      )}
    </>
  )
}
