import { expect, test } from 'bun:test'
import { AppError } from '../../src/core/errors.ts'
import { statementError, unusable } from '../../src/store/duckdb/database-error.ts'

test.each([
  'Out of Memory Error: could not allocate block of size 256.0 KiB',
  'Failed to allocate block of 262144 bytes (bad allocation)',
  'std::bad_alloc',
  'Allocation failure',
  'TransactionContext Error: Failed to commit: Allocation failure',
  // For the types of a knowledge base's own tables.
  'Cannot create a data chunk with these column types: BIGINT, FLOAT[384]',
  'mprotect failed: Cannot allocate memory',
])('"%s" says that memory ran out', (message) => {
  const error = statementError(new Error(message))
  expect(error instanceof AppError && error.code).toBe('out_of_memory')
})

test('a disk that turns out to be full says what to do', () => {
  const wal = '"/data/eider-data.duckdb.wal": No space left on device'
  const error = statementError(
    new Error(`TransactionContext Error: Failed to commit: Could not write file ${wal}`),
  )
  expect(error).toMatchObject({
    code: 'storage_full',
    message: expect.stringContaining('Make room on the disk'),
  })
})

test('a data folder of another user says what to do, also if DuckDB finds out', () => {
  for (const cause of [
    Object.assign(new Error('open'), { code: 'EACCES' }),
    new Error('IO Error: Cannot open file "/data/eider-data.duckdb": Permission denied'),
  ]) {
    expect(unusable('/data', cause).message).toStartWith(
      'The data folder /data cannot be used: permission is denied. Run Eider as its owner',
    )
  }
})
