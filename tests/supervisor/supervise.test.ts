import { expect, test } from 'bun:test'
import { type ServerProcess, supervise } from '../../src/ops/supervisor/supervise.ts'

test('a server that does not stop is killed after some time', async () => {
  const earlier = process.listeners('SIGTERM')
  const received: (NodeJS.Signals | 'told')[] = []
  const exited = Promise.withResolvers<void>()
  const server: ServerProcess = {
    send: () => {},
    exited: exited.promise,
    exitCode: null,
    signalCode: 'SIGKILL',
    kill: (signal) => {
      received.push(signal)
      if (signal === 'SIGKILL') exited.resolve()
    },
  }
  const code = supervise({
    start: (_restarts, { onReady }) => {
      onReady()
      return server
    },
    onCrash: () => {},
    stopMs: 50,
    onKill: () => received.push('told'),
  })
  process.emit('SIGTERM')
  expect(await code).toBe(128 + 9)
  expect(received).toEqual(['SIGTERM', 'told', 'SIGKILL'])
  const added = process.listeners('SIGTERM').filter((one) => !earlier.includes(one))
  for (const listener of added) process.off('SIGTERM', listener)
})
