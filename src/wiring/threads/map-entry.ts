/** The thread that computes one map. */
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { ToMapThread } from '../../retrieval/map/map-protocol.ts'
import { MapThread } from '../../retrieval/map/map-thread.ts'

/** A lower priority than the thread that answers requests. */
const PRIORITY = 10

const mapPort = parentPort
if (mapPort === null) throw new Error('This file is the entry of a worker thread')

// On Linux, each thread has its own priority. On other systems, this would affect the whole
// process.
if (process.platform === 'linux') {
  try {
    setPriority(PRIORITY)
  } catch {
    // If this is not allowed, the map runs at normal priority.
  }
}

const thread = new MapThread((message) => mapPort.postMessage(message))

mapPort.on('message', (message: ToMapThread) => thread.receive(message))
