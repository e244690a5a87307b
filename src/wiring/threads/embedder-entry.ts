/** The process that embeds texts with the built-in model. */
import { EmbeddingLoop } from '../../models/builtin/embedding-loop.ts'
import type { EmbeddingRequest } from '../../models/builtin/embedding-protocol.ts'
import { endWithParent } from '../../ops/supervisor/parent-death.ts'

endWithParent()
// Ctrl-C and service managers signal all processes of a server, but this one ends only with the
// server.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})

const loop = new EmbeddingLoop((answer) => process.send?.(answer))

process.on('message', (request: EmbeddingRequest) => {
  void loop.receive(request)
})
