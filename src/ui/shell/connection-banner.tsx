import { isLost, isOutdated } from '../api/connection.ts'
import { Icon } from '../components/icon.tsx'

/** Says that the server does not answer, as long as it does not; and that it came back as another version. */
export function ConnectionBanner() {
  return (
    <>
      {isLost.value && (
        <p class="connection-banner" role="alert">
          <Icon name="warning" />
          The server does not answer. Nothing that you typed is lost; this page goes on as soon as
          it is back.
        </p>
      )}
      {isOutdated.value && !isLost.value && (
        <div class="connection-banner newer" role="status">
          <Icon name="download" />
          <span class="grow">
            The server was updated. Load the page again when it suits you: what is typed and not
            saved goes with that.
          </span>
          <button type="button" class="button small" onClick={() => location.reload()}>
            Load again
          </button>
        </div>
      )}
    </>
  )
}
