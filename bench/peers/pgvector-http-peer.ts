import { join } from 'node:path'
import { searched } from './eider-peer.ts'
import type { OpenPeer, Peer, PeerPlaces } from './peer.ts'
import { type ProcessPeerOptions, processPeer } from './process-peer.ts'

const LAYER = join(import.meta.dir, 'bare-vectors.ts')
const CONNECTIONS = 8

/** pgvector as a product would access it over HTTP: behind a minimal layer, with the same clients as Eider. */
export function pgvectorHttpPeer(options: ProcessPeerOptions): Peer {
  const direct = processPeer(options)
  return { ...direct, reach: 'JSON over HTTP', open: (places) => openBehindLayer(direct, places) }
}

async function openBehindLayer(direct: Peer, places: PeerPlaces): Promise<OpenPeer> {
  const database = await direct.open(places)
  const command = [process.execPath, LAYER, database.address ?? '', 'peer', String(CONNECTIONS)]
  const layer = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit' })
  const close = async () => {
    layer.kill()
    await layer.exited
    await database.close()
  }
  const { value } = await layer.stdout.getReader().read()
  const url = new TextDecoder().decode(value).trim()
  if (url === '') {
    await close()
    throw new Error('the layer in front of PostgreSQL did not start')
  }
  return {
    ...database,
    search: (request) => {
      return searched(request, places.set, async (query, keep) => {
        const body = JSON.stringify({ query, keep, setting: request.setting })
        const headers = { 'content-type': 'application/json' }
        const response = await fetch(url, { method: 'POST', headers, body })
        if (!response.ok) throw new Error(`pgvector over HTTP: status ${response.status}`)
        // The layer has only this kind of answer.
        const { data } = (await response.json()) as {
          readonly data: readonly (readonly string[])[]
        }
        return data.map(([id]) => Number(id))
      })
    },
    close,
  }
}
