import { expect, test } from 'bun:test'
import type { AppError } from '../../src/core/errors.ts'
import { yieldToEventLoop } from '../../src/core/runtime/serial-queue.ts'
import { Database } from '../../src/store/duckdb/database.ts'
import { lockNoteOf } from '../../src/store/duckdb/locked-instance.ts'

test('a database that closes waits for connections that are being opened', async () => {
  const options = { directory: null, memoryLimit: '256MB', threads: 1, spillLimit: '1GB' }
  const database = await Database.open({ ...options, note: lockNoteOf(0, undefined) })
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
