/** Settings of who may come in, and of the doors. */
import { integer, setting } from './setting-values.ts'

export const ACCESS_SETTINGS = {
  keyRequestsPerMinute: setting('EIDER_KEY_REQUESTS_PER_MINUTE', {
    default: '0',
    help: 'Requests that each key may make in a minute, unless it says otherwise; 0: without a limit',
    parse: integer(0, 1_000_000),
  }),
}
