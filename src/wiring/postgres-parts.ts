/** The PostgreSQL port, where the settings ask for one. */
import { readFileSync } from 'node:fs'
import { listenPostgres, type PostgresListener } from '../api/postgres/listen-postgres.ts'
import type { PostgresParts, PostgresPort } from '../api/postgres/postgres-port.ts'
import { errorText, StartError } from '../core/errors.ts'
import type { Settings } from './settings/settings.ts'

/** @throws StartError for a certificate that cannot be read, and a port that is taken */
export function openPostgresPort(
  parts: Omit<PostgresParts, 'openScratch'>,
  settings: Settings,
): PostgresListener | null {
  const { host: hostname, pgPort: port } = settings
  if (port === undefined) return null
  let opened: Promise<PostgresPort> | undefined
  const openScratch = async (script: string) => {
    const { ScratchDatabase } = await import('../store/duckdb/scratch-database.ts')
    return ScratchDatabase.open(script, 'pgc')
  }
  const load = async () => {
    const module = await import('../api/postgres/postgres-port.ts')
    return new module.PostgresPort({ ...parts, openScratch })
  }
  try {
    return listenPostgres({ hostname, port, tls: tlsOf(settings) }, async (peer, id) => {
      opened ??= load()
      return (await opened).partsFor(peer, id)
    })
  } catch (error) {
    if (error instanceof StartError) throw error
    const message = `Cannot listen at ${hostname}:${port}, the port of EIDER_PG_PORT: ${errorText(error)}`
    throw new StartError(message, error)
  }
}

function tlsOf({ pgTlsCert, pgTlsKey }: Settings) {
  if (pgTlsCert === undefined && pgTlsKey === undefined) return null
  if (pgTlsCert === undefined || pgTlsKey === undefined) {
    throw new StartError('EIDER_PG_TLS_CERT and EIDER_PG_TLS_KEY go together; set both')
  }
  try {
    return { cert: readFileSync(pgTlsCert, 'utf8'), key: readFileSync(pgTlsKey, 'utf8') }
  } catch (error) {
    throw new StartError(`The certificate of the PostgreSQL port: ${errorText(error)}`, error)
  }
}
