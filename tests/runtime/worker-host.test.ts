import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { WorkerHost } from '../../src/core/runtime/worker-host.ts'

const url = pathToFileURL(join(import.meta.dir, 'fixtures/echo-thread.ts')).href

function startedHost() {
  const answer = Promise.withResolvers<unknown>()
  const end = Promise.withResolvers<unknown>()
  const host = new WorkerHost({ url, onMessage: answer.resolve, onEnd: end.resolve })
  host.setBusy(true)
  return { host, answer: answer.promise, end: end.promise }
}

test('what is posted is answered', async () => {
  const { host, answer } = startedHost()
  host.post('hello')
  expect(await answer).toBe('hello')
  await host.terminate()
  expect(host.hasEnded).toBe(true)
})

test('a thread that fails is reported as ended, once, and receives nothing more', async () => {
  const { host, end } = startedHost()
  host.post('fail')
  expect(String(await end)).toContain('as it was told')
  expect(host.hasEnded).toBe(true)
  host.post('hello')
})

test('a thread that exits is reported as ended', async () => {
  const { host, end } = startedHost()
  host.post('exit')
  expect(await end).toBe('the thread ended with exit code 3')
})

test.skipIf(process.platform !== 'linux')('a thread that has no memory to start says so', () => {
  const program = join(import.meta.dir, 'fixtures/thread-without-memory.ts')
  const { stdout } = Bun.spawnSync([process.execPath, program])
  expect(stdout.toString()).toBe('out_of_memory\n')
})
