import { expect, test } from 'bun:test'
import type { AppError } from '../../src/core/errors.ts'
import { yieldToEventLoop } from '../../src/core/runtime/serial-queue.ts'
import { Database } from '../../src/store/duckdb/database.ts'
import { lockNoteOf } from '../../src/store/duckdb/locked-instance.ts'

function opened(): Promise<Database> {
  const options = { directory: null, memoryLimit: '256MB', threads: 1, spillLimit: '1GB' }
  return Database.open({ ...options, note: lockNoteOf(0, undefined) })
}

test('a database that closes waits for statements of its own', async () => {
  const database = await opened()
  let hasEnded = false
  const running = database.lease(async (connection) => {
    await connection.run('SELECT count(*) FROM range(20000000) a WHERE hash(a.range) = 1')
    hasEnded = true
  })
  await database.close()
  expect(hasEnded).toBe(true)
  await running
})

test('a database that closes waits for connections that are being opened', async () => {
  const database = await opened()
  let [opening, failure] = [0, null as AppError | null]
  const open = async () => {
    opening += 1
    try {
      const connection = await database.take()
      connection.closeSync()
    } catch (error) {
      // It throws nothing else.
      failure = error as AppError
    } finally {
      opening -= 1
    }
  }
  const closing = database.close().then(() => opening)
  while (failure === null) {
    void open()
    await yieldToEventLoop()
  }
  expect(failure.code).toBe('shutting_down')
  expect(await closing).toBe(0)
})
