/** Settings of who may come in, and of the doors. */
import { integer, setting, truth } from './setting-values.ts'

export const ACCESS_SETTINGS = {
  keyRequestsPerMinute: setting('EIDER_KEY_REQUESTS_PER_MINUTE', {
    default: '0',
    help: 'Requests that each key may make in a minute, unless it says otherwise; 0: without a limit',
    parse: integer(0, 1_000_000),
  }),
  auditKeepDays: setting('EIDER_AUDIT_KEEP_DAYS', {
    default: '365',
    help: 'For how many days the audit log is kept',
    parse: integer(1, 36_500),
  }),
  auditRowsMax: setting('EIDER_AUDIT_ROWS_MAX', {
    default: '1000000',
    help: 'Maximum number of entries of the audit log; then the oldest go',
    parse: integer(1000, 1_000_000_000),
  }),
  urlKeys: setting('EIDER_URL_KEYS', {
    default: '0',
    help: '1: a key that may read and nothing else may stand in the address of a statement (`GET /api/sql/query?key=…`), for programs that send no headers. Addresses are kept in histories and logs of others',
    parse: truth,
  }),
}
