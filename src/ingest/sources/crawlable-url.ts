import { AppError } from '../../core/errors.ts'
import { withoutDot } from '../../core/runtime/address-policy.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'

/**
 * An address as it is fetched: http or https, without credentials, without fragment.
 * @throws AppError `address_refused`
 */
export function crawlableUrl(text: string, base?: string): URL {
  const shown = JSON.stringify(text.slice(0, 200))
  if (text.length > INGEST_LIMITS.urlCharsMax) {
    const limit = `has more than ${INGEST_LIMITS.urlCharsMax} characters`
    throw new AppError('address_refused', `The address ${shown} ${limit}`)
  }
  const url = URL.parse(text, base)
  if (url === null) throw new AppError('address_refused', `${shown} is not an address`)
  if (url.username !== '' || url.password !== '') {
    // The address is not shown: it holds a secret.
    throw new AppError('address_refused', `An address of ${url.hostname} holds a user or password`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new AppError('address_refused', `The address ${shown} is neither http nor https`)
  }
  url.hash = ''
  url.hostname = withoutDot(url.hostname)
  return url
}
