import { expect, test } from 'bun:test'
import { maskedParameters, sourceParameters } from '../../src/core/domain/flow/source-parameters.ts'

test('parameters come under their own names, with values of their kinds', () => {
  const given = { HOST: 'db.example', port: '5433', username: 'ann', PASSWORD: 'x', dbname: 'shop' }
  expect(sourceParameters('postgres', { ...given, sslmode: 'Require', schema: null })).toEqual({
    host: 'db.example',
    port: 5433,
    user: 'ann',
    password: 'x',
    database: 'shop',
    sslmode: 'require',
  })
  expect(sourceParameters('duckdb', { path: 'a.duckdb' })).toEqual({ db_file: 'a.duckdb' })
  expect(sourceParameters('mysql', { host: 'h', ssl: '1' })).toEqual({ host: 'h', ssl: true })
  const numeric = { host: 'h', numeric_as: 'DECIMAL(38, 10)', ssl: true, sslmode: 'verify-ca' }
  expect(sourceParameters('postgres', numeric)).toEqual({
    ...numeric,
    numeric_as: 'decimal(38,10)',
  })
})

const REFUSED: readonly (readonly [
  Parameters<typeof sourceParameters>[0],
  Record<string, unknown>,
  string,
])[] = [
  ['postgres', { host: 'h', shema: 's' }, 'Engine postgres has no parameter "shema"'],
  ['postgres', { port: 5432 }, 'Engine postgres needs the parameter host, or url'],
  ['sqlite', {}, 'Engine sqlite needs the parameter db_file'],
  ['mysql', { host: 'h', port: 70_000 }, 'Parameter port: expected a port from 1 to 65535'],
  ['mysql', { host: 'h', user: { a: 1 } }, 'Parameter user: expected a text'],
  ['postgres', { host: 'h', sslmode: 'maybe' }, 'Parameter sslmode: expected one of disable'],
  ['postgres', { host: 'h', user: 'a', username: 'b' }, 'Parameter user is given twice'],
  [
    'postgres',
    { host: 'h', numeric_as: 'decimal(39,0)' },
    "Parameter numeric_as: expected 'text' or",
  ],
  ['postgres', { host: 'a,b', port: '1,2,3' }, 'as many as there are hosts'],
  ['postgres', { host: 'a,b', port: '1,x' }, 'Parameter port: expected a port from 1 to 65535'],
  ['postgres', { host: 'a,,b' }, 'Parameter host: expected a host name'],
  ['postgres', { host: 'h', target_session_attrs: 'best' }, 'expected one of any, read-write'],
  ['mysql', { host: 'h', numeric_as: 'text' }, 'Engine mysql has no parameter "numeric_as"'],
  ['postgres', { host: 'h', ssl: true, sslmode: 'disable' }, 'contradict each other'],
  ['postgres', { host: 'h', ssl: false, sslmode: 'require' }, 'contradict each other'],
  ['postgres', { host: 'h', sslmode: 'disable', sslrootcert: 'c' }, 'without encryption'],
  ['postgres', { host: 'h', ssl: false, sslcert: 'c', sslkey: 'k' }, 'without encryption'],
  [
    'postgres',
    { host: 'h', sslmode: 'prefer', sslrootcert: 'c' },
    'does not check the certificate',
  ],
  ['postgres', { host: 'h', sslcert: 'c' }, 'sslcert and sslkey belong together'],
  ['mysql', { host: 'h', ssl: false, ssl_ca: 'c' }, 'without encryption'],
  ['mysql', { host: 'h', ssl: false, ssl_verify: true }, 'without encryption'],
  ['mysql', { host: 'h', ssl_verify: false, ssl_ca: 'c' }, 'ssl_ca has no effect'],
  ['mysql', { host: 'h', ssl_key: 'k' }, 'ssl_cert and ssl_key belong together'],
  ['postgres', { host: 'h', password: 'sec\0ret' }, 'Parameter password: expected a text without'],
]

test.each([...REFUSED])('%s refuses %p', (engine, given, message) => {
  const refusal = () => sourceParameters(engine, given)
  expect(refusal).toThrow(message)
  expect(refusal).not.toThrow('ret')
})

test('secrets are masked under each of their names, and so are unknown ones', () => {
  const given = { host: 'h', PASSWORD: 'p', dsn: 'postgresql://u:p@h', passwort: 'p', password: '' }
  expect(maskedParameters('postgres', given)).toEqual({
    host: 'h',
    PASSWORD: '******',
    dsn: '******',
    passwort: '******',
    password: '',
  })
})
