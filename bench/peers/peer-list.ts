import { eiderPeer } from './eider-peer.ts'
import type { Peer, Setting } from './peer.ts'
import { pgvectorHttpPeer } from './pgvector-http-peer.ts'
import { processPeer } from './process-peer.ts'

const NOTHING: readonly Setting[] = [{ label: '', value: null }]
const GRAPH = breadths('ef', [64, 128])
const LISTS = breadths('nprobe', [8, 32])
const IN_PROCESS = { reach: 'in process', hasFilter: true, settings: NOTHING } as const
const POSTGRES = { ...IN_PROCESS, reach: 'SQL over a socket', script: 'pgvector-peer.py' } as const

/** @param python a Python with the packages from `requirements.txt` */
export function allPeers(python: string): readonly Peer[] {
  const eider = { reach: 'SQL over HTTP', hasFilter: true, settings: NOTHING } as const
  const faiss = { ...IN_PROCESS, script: 'faiss-peer.py', python }
  const lancedb = { ...IN_PROCESS, script: 'lancedb-peer.py', python }
  const postgres = { ...POSTGRES, python }
  return [
    eiderPeer({ ...eider, name: 'eider', label: 'Eider' }),
    eiderPeer({ ...eider, name: 'eider-ivf', label: 'Eider IVF', index: 'ivf' }),
    processPeer({
      ...{ ...IN_PROCESS, python, script: 'duckdb-peer.py' },
      ...{ name: 'duckdb', label: 'DuckDB exact' },
    }),
    processPeer({
      ...{ ...postgres, kind: 'exact' },
      ...{ name: 'pgvector-exact', label: 'pgvector exact' },
    }),
    processPeer({
      ...{ ...postgres, kind: 'hnsw', settings: GRAPH },
      ...{ name: 'pgvector-hnsw', label: 'pgvector HNSW' },
    }),
    pgvectorHttpPeer({
      ...{ ...postgres, kind: 'hnsw', settings: GRAPH },
      ...{ name: 'pgvector-http', label: 'pgvector HNSW behind a bare server' },
    }),
    processPeer({
      ...{ ...IN_PROCESS, python, script: 'sqlite-vec-peer.py' },
      ...{ name: 'sqlite-vec', label: 'sqlite-vec exact' },
    }),
    processPeer({
      ...{ ...lancedb, kind: 'flat' },
      ...{ name: 'lancedb-flat', label: 'LanceDB flat' },
    }),
    processPeer({
      ...{ ...lancedb, kind: 'hnsw', settings: GRAPH },
      ...{ name: 'lancedb-hnsw', label: 'LanceDB IVF_HNSW_SQ' },
    }),
    processPeer({
      ...{ ...IN_PROCESS, python, script: 'usearch-peer.py', settings: GRAPH, hasFilter: false },
      ...{ name: 'usearch', label: 'usearch HNSW' },
    }),
    processPeer({ ...{ ...faiss, kind: 'flat' }, ...{ name: 'faiss-flat', label: 'faiss flat' } }),
    processPeer({
      ...{ ...faiss, kind: 'hnsw', settings: GRAPH },
      ...{ name: 'faiss-hnsw', label: 'faiss HNSW' },
    }),
    processPeer({
      ...{ ...faiss, kind: 'ivf', settings: LISTS },
      ...{ name: 'faiss-ivf', label: 'faiss IVF' },
    }),
  ]
}

function breadths(name: string, values: readonly number[]): readonly Setting[] {
  return values.map((value) => ({ label: `${name} ${value}`, value }))
}
